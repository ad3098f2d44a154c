import { expect, test } from "bun:test";
import { SubmitResponses } from "../../../../../src/modules/sms/gateway/submit-responses.ts";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import type { Submission } from "../../../../../src/modules/sms/gateway/submission.ts";
import { CircuitBreaker } from "../../../../../src/modules/sms/gateway/circuit-breaker.ts";
import { Receipts } from "../../../../../src/modules/sms/receipts/process.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { addMessage, addWorkspace, NUMBERING, openLedger } from "../../../../support/sms/rows.ts";

const LINK = { route: "vodacom", priority: "transactional", link: "a" } as const;
const REFUSED = 0x58;
const WAIT_MS = 120_000;

/** Answers over a database with a workspace; what of a text of `parts` is claimed flies as one does. */
function start() {
  const of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const routes = openRoutes([{ ...defaultSmsRoute("vodacom"), failover: ["other"] }, defaultSmsRoute("other")]);
  const events: string[] = [];
  const log = {
    event: (name: string) => void events.push(name),
    error: (_where: string, error: unknown) => expect(error).toBeUndefined(),
  };
  const links = { pause: () => undefined };
  const breaker = new CircuitBreaker({ routes, steady: { now: () => 0 }, log, links });
  const receipts = new Receipts({ sms: ledger, routes, numbering: NUMBERING });
  const responses = new SubmitResponses({
    sms: ledger,
    routes,
    receipts,
    breaker,
    links,
    lostResponseWaitMs: WAIT_MS,
    log,
  });
  const { commit } = of.committer;
  let leaseEpoch = 0;
  return {
    responses,
    events,
    breaker,
    routes,
    ledger,
    commit,
    [Symbol.dispose]: () => of[Symbol.dispose](),
    add: (parts: number) =>
      commit(() => {
        const workspaceId = addWorkspace(ledger, 10);
        return addMessage(ledger, parts, { message: { workspaceId } });
      }),
    claim: (now: number, limit = 10): Promise<Submission[]> =>
      commit(() => {
        leaseEpoch += 1;
        const rows = ledger.segments.claim({ ...LINK, workspaceId: 1, leaseEpoch, now, limit });
        return rows.map(
          ({ messageId, seq }) => ({ messageId, seqs: [seq], route: LINK.route, leaseEpoch }) as unknown as Submission,
        );
      }),
    states: (messageId: number) => ledger.segments.listByMessage(messageId).map(({ state }) => state),
  };
}

function only(flights: Submission[]): Submission {
  const [flight] = flights;
  if (flight === undefined || flights.length > 1) throw new Error(`${flights.length} flights`);
  return flight;
}

test("what was claimed and not written waits in its old place, before the parts behind it", async () => {
  using on = start();
  const id = await on.add(3);
  const flights = await on.claim(1_000, 2);
  await on.commit(() => {
    for (const flight of flights)
      expect(on.responses.unsent(flight, null, 1_001)).toEqual([
        { route: "vodacom", priority: "transactional", workspaceId: 1, nextAt: 0 },
      ]);
  });
  expect(on.ledger.segments.listByMessage(id).map(({ attempts, nextAt }) => [attempts, nextAt])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
  expect((await on.claim(2_000, 2)).map(({ seqs }) => seqs)).toEqual([[1], [2]]);
});

test("a text that was sent twice, the first of which is known to be taken, is not given up with the second", async () => {
  using on = start();
  const id = await on.add(1);
  const first = only(await on.claim(0));
  await on.commit(() => on.responses.handleLostResponse(first, 10));
  const second = only(await on.claim(20));
  await on.commit(() => on.responses.handleResponse(first, { status: 0, messageId: "A1" }, 30));
  expect(on.states(id)).toEqual(["in_flight"]);
  await on.commit(() => on.responses.handleLostResponse(second, 40));
  expect(on.ledger.messages.byId(id)).toMatchObject({ status: "sent", credits: 1, possibleDuplicate: true });
});

test("the late answer of a first submit counts while the second waits, or nobody knows of it", async () => {
  using on = start();
  const id = await on.add(1);
  const first = only(await on.claim(0));
  await on.commit(() => on.responses.handleLostResponse(first, 10));
  const second = only(await on.claim(20));
  await on.commit(() => on.responses.handleResponse(second, { status: REFUSED, messageId: "" }, 30));
  expect(on.states(id)).toEqual(["ready"]);
  await on.commit(() => on.responses.handleResponse(first, { status: 0, messageId: "A1" }, 40));
  expect(on.states(id)).toEqual(["accepted"]);
  expect(await on.claim(10_000_000)).toEqual([]);
  const other = await on.commit(() => addMessage(on.ledger));
  const earlier = only(await on.claim(50));
  await on.commit(() => on.responses.handleLostResponse(earlier, 60));
  const later = only(await on.claim(70));
  await on.commit(() => on.responses.handleLostResponse(later, 80));
  expect(on.states(other)).toEqual(["unknown"]);
  await on.commit(() => on.responses.handleResponse(earlier, { status: 0, messageId: "A2" }, 90));
  expect(on.ledger.messages.byId(other)).toMatchObject({ status: "sent", providerId: "A2" });
});

test("how an SMSC does is told by what comes, and not by how often that is written", async () => {
  using on = start();
  await on.add(1);
  const flight = only(await on.claim(0));
  const written = Array.from({ length: 60 }, () =>
    on.commit(() => {
      on.responses.handleResponse(flight, { status: 0x45, messageId: "" }, 10);
      throw new Error("rolled back");
    }),
  );
  for (const each of await Promise.allSettled(written)) expect(each.status).toBe("rejected");
  expect(on.breaker.isOpen("vodacom")).toBe(false);
  const route = on.routes.get("vodacom");
  if (route === undefined) throw new Error("no route");
  const link = { name: "a", route, free: 0, freeWith: () => 0, send: () => undefined, returned: 0 };
  const event = {
    kind: "responded",
    link,
    submission: flight,
    status: 0x45,
    messageId: "",
    pdu: Buffer.alloc(0),
  } as const;
  const response = { ...event, settle: () => undefined, isPresent: () => true };
  for (let nth = 0; nth < 50; nth += 1) on.breaker.observe(response);
  expect(on.breaker.isOpen("vodacom")).toBe(true);
});

test("a text of parts that is refused late, and goes another way, goes at once with all of them", async () => {
  using on = start();
  const id = await on.add(3);
  const first = only(await on.claim(0, 1));
  await on.commit(() => on.responses.handleLostResponse(first, 10));
  expect(on.states(id)).toEqual(["unknown", "ready", "ready"]);
  await on.commit(() => on.responses.handleResponse(first, { status: 0x0b, messageId: "" }, 20));
  expect(on.ledger.segments.listByMessage(id).map(({ state, route, nextAt }) => [state, route, nextAt])).toEqual([
    ["ready", "other", 20],
    ["ready", "other", 20],
    ["ready", "other", 20],
  ]);
});

test("a part that is refused for now, or was not written, waits while another of its text is in doubt", async () => {
  type On = ReturnType<typeof start>;
  const whatHappens = [
    ({ responses }: On, flight: Submission) => responses.handleResponse(flight, { status: REFUSED, messageId: "" }, 20),
    ({ responses }: On, flight: Submission) => responses.unsent(flight, null, 20),
  ];
  for (const happens of whatHappens) {
    using on = start();
    const id = await on.add(3);
    const [first, second] = await on.claim(0, 2);
    if (first === undefined || second === undefined) throw new Error("nothing was claimed");
    await on.commit(() => on.responses.handleLostResponse(first, 10));
    const work = await on.commit(() => happens(on, second));
    const dueAt = () => on.ledger.segments.listByMessage(id).map(({ nextAt }) => nextAt);
    expect(on.states(id)).toEqual(["unknown", "ready", "ready"]);
    expect(dueAt()).toEqual([10 + WAIT_MS, 86_400_000, 86_400_000]);
    expect(work).toMatchObject([{ nextAt: 86_400_000 }]);
    // Its answer comes late.
    await on.commit(() => on.responses.handleResponse(first, { status: 0, messageId: "A1" }, 30));
    expect(on.states(id)).toEqual(["accepted", "ready", "ready"]);
    expect(dueAt().slice(1)).toEqual([30, 30]);
  }
});

test("the parts behind one in doubt go with it where its route's policy has become to send again", async () => {
  using on = start();
  const id = await on.add(3);
  const first = only(await on.claim(0, 1));
  await on.commit(() => on.responses.handleLostResponse(first, 10));
  const route = on.routes.get("vodacom");
  if (route !== undefined) route.config.onLostResponse = "retry";
  const now = 10 + WAIT_MS;
  await on.commit(() => on.ledger.segments.unknownDue(now, 10).flatMap((row) => on.responses.resolve(row, now)));
  expect(on.ledger.segments.listByMessage(id).map(({ state, nextAt }) => [state, nextAt])).toEqual([
    ["ready", 0],
    ["ready", 0],
    ["ready", 0],
  ]);
  expect(on.ledger.messages.byId(id)?.possibleDuplicate).toBe(true);
});

test("a refusal that alarms is told once, after its commit, however often its transaction runs", async () => {
  using on = start();
  await on.add(2);
  const [first, second] = await on.claim(0);
  if (first === undefined || second === undefined) throw new Error("nothing was claimed");
  const alarming = { status: 0x15, messageId: "" }; // ESME_RINVSERTYP
  const refused = on.commit(() => on.responses.handleResponse(first, alarming, 10));
  const bug = on.commit(() => {
    on.responses.handleResponse(second, alarming, 10);
    throw new Error("a bug of a neighbour");
  });
  await expect(bug).rejects.toThrow("a bug of a neighbour");
  await refused;
  expect(on.events).toEqual(["sms.refused"]);
});
