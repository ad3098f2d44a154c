// Faults of answers, of flow and of the machine, each alone, with a whole pombo; then what must be true after each.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AUTHORITY, OTHER_CERTIFICATE } from "../../support/fakes/certificates.ts";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { fastClock, judged, startTexting, type TextWorld } from "../../support/texting/world.ts";

setDefaultTimeout(60_000);

const LONG = "Um texto que vai em partes. ".repeat(14);

function numberFor(nth: number): string {
  return `+25884${String(nth).padStart(7, "0")}`;
}

/** Texts to a number each. */
function textMany(world: TextWorld, count: number, from = 0): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, nth) => world.text({ to: numberFor(from + nth) })));
}

async function delivered(world: TextWorld, ids: string[]): Promise<void> {
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
}

test("an answer that does not come in 30 s: the text goes once more on the same connection, marked", async () => {
  await using world = await startTexting({
    script: { rules: [{ count: 1, answer: { kind: "none", receipt: { states: [] } } }] },
    instance: { clock: fastClock(30) },
  });
  const ids = await textMany(world, 1);
  await delivered(world, ids);
  expect(await world.show(ids[0] ?? "")).toMatchObject({ possibleDuplicate: true, credits: 1 });
  expect((await world.smsc.state()).counters).toMatchObject({ connections: 1, submits: 2 });
  expect((await judged(world, ids)).broken).toEqual([]);
});

test("an answer that comes after the timeout tells what became of the text, and nothing goes twice", async () => {
  await using world = await startTexting({
    script: { rules: [{ count: 1, answer: { delayMs: 2_000, receipt: { delayMs: 2_500 } } }] },
    route: { onLostResponse: "hold" },
    instance: { clock: fastClock(20) },
  });
  const ids = await textMany(world, 1);
  await world.until(ids[0] ?? "", () => world.segments().every(({ state }) => state === "unknown"));
  await delivered(world, ids);
  expect(await world.show(ids[0] ?? "")).toMatchObject({ possibleDuplicate: false, credits: 1 });
  expect((await world.smsc.state()).counters).toMatchObject({ connections: 1, submits: 1 });
  expect((await judged(world, ids)).broken).toEqual([]);
});

test("a late answer of a text that was sent again is the first one's: receipts of both are known", async () => {
  await using world = await startTexting({
    script: { rules: [{ count: 1, answer: { delayMs: 2_500, receipt: { delayMs: 3_000, states: ["DELIVRD"] } } }] },
    instance: { clock: fastClock(20) },
  });
  await world.smsc.script({ receipts: { states: [] } });
  const ids = await textMany(world, 1);
  await delivered(world, ids);
  expect(await world.show(ids[0] ?? "")).toMatchObject({ possibleDuplicate: true });
  const orphans = world.instance.app.db.sqlite.query("SELECT COUNT(*) AS n FROM sms_receipt_orphan").get();
  expect(orphans).toEqual({ n: 0 });
  expect((await judged(world, ids)).broken).toEqual([]);
});

test("a refusal that comes after the timeout is final for a text that is held, and its credit comes back", async () => {
  await using world = await startTexting({
    script: { rules: [{ answer: { status: 0x0a, delayMs: 2_000 } }] },
    route: { onLostResponse: "hold" },
    instance: { clock: fastClock(20) },
  });
  const [id = ""] = await textMany(world, 1);
  const message = await world.until(id, ({ status }) => status === "failed");
  expect(message).toMatchObject({ failureCategory: "sender_rejected", credits: 0, possibleDuplicate: false });
});

test("answers missing in a row end the connection; what was in doubt goes once more, nothing else does", async () => {
  // One each: on a slow machine the first may go once more before the sixth has gone at all.
  const rules = Array.from({ length: 6 }, (_, nth) => ({
    to: numberFor(nth).slice(1),
    count: 1,
    answer: { kind: "none" as const, receipt: { states: [] } },
  }));
  await using world = await startTexting({ script: { rules }, instance: { clock: fastClock(30) } });
  const ids = await textMany(world, 20);
  await delivered(world, ids);
  const verdict = await judged(world, ids);
  expect(verdict).toMatchObject({ broken: [], marked: 6, doubled: 6 });
});

test("an unbind in the middle of the window: answered, then bound again; all arrive", async () => {
  await using world = await startTexting({
    script: { rules: [{ from: 4, count: 1, answer: { end: "unbind" } }] },
    instance: { clock: fastClock(20) },
  });
  const ids = await textMany(world, 20);
  await delivered(world, ids);
  expect((await world.smsc.state()).counters).toMatchObject({ unbindAnswers: 1, connections: 2 });
  expect((await judged(world, ids)).broken).toEqual([]);
});

test("an SMSC that reads nothing for a while gets all, no more than a window of it twice", async () => {
  await using world = await startTexting({ instance: { clock: fastClock(20) } });
  const first = await textMany(world, 5);
  await delivered(world, first);
  await world.smsc.tell("stall", { isStalled: true });
  const ids = await textMany(world, 40, 5);
  await waitUntil(
    "it is given up",
    20_000,
    () => world.instance.events.filter((e) => e.name === "smpp.unbound").length > 0,
  );
  await world.smsc.tell("stall", { isStalled: false });
  await delivered(world, ids);
  const verdict = await judged(world, [...first, ...ids]);
  expect(verdict.broken).toEqual([]);
  expect(verdict.marked).toBeLessThanOrEqual(10);
});

for (const unbind of ["none", "answer"] as const) {
  test(`a peer that ${unbind === "none" ? "does not answer" : "stays open after"} our unbind does not keep a stop`, async () => {
    await using world = await startTexting({ script: { unbind }, instance: { clock: fastClock(20) } });
    const ids = await textMany(world, 3);
    await delivered(world, ids);
    const startedAt = performance.now();
    expect((await judged(world, ids)).broken).toEqual([]);
    // Twice 5 s, at twenty times their speed.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
}

test("ids that come again after the SMSC's restart are told apart by the number and the newest without its receipt", async () => {
  await using world = await startTexting({ instance: { clock: fastClock(20) } });
  const before = await textMany(world, 10);
  await delivered(world, before);
  await world.smsc.tell("drop", { how: "rst" });
  await world.smsc.tell("ids", { next: 972_660_181 });
  await world.smsc.script({ receipts: { states: ["UNDELIV"] } });
  const ids = [...(await textMany(world, 5, 20)), await world.text({ to: numberFor(0) })];
  for (const id of ids) await world.until(id, ({ status }) => status === "undelivered");
  for (const id of before) expect((await world.show(id)).status).toBe("delivered");
});

test("one id for all texts: receipts find theirs by the number", async () => {
  await using world = await startTexting({ script: { ids: "constant" } });
  const ids = await textMany(world, 10);
  await delivered(world, ids);
  expect((await judged(world, ids)).broken).toEqual([]);
});

test("a ROK without an id is a text sent of which nothing more will be heard", async () => {
  await using world = await startTexting({ script: { ids: "empty", receipts: { states: [] } } });
  const [id = ""] = await textMany(world, 1);
  const message = await world.until(id, ({ status }) => status === "sent");
  expect(message).toMatchObject({ deliveryState: "unknown", providerId: null, credits: 1 });
});

test("a ROK right before a reset is an answer: nothing goes twice", async () => {
  await using world = await startTexting({
    script: { rules: [{ every: 5, answer: { end: "rst" } }] },
    link: { window: 1 },
  });
  const ids = await textMany(world, 6);
  for (const id of ids) await world.until(id, ({ sentAt }) => sentAt !== null);
});

test("an SMSC without a valid certificate gets no texts, nor the password", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-ca-"));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, AUTHORITY);
  await using other = await startSmsc({ certificate: OTHER_CERTIFICATE });
  try {
    const tls = { tls: "verified", caFile, tlsName: "relay.test", port: other.port } as const;
    await using world = await startTexting({ link: tls });
    const id = await world.text();
    const told = () => world.instance.events.find(({ name }) => name === "smpp.unbound")?.fields["reason"];
    await waitUntil("it says why", 10_000, () => told() !== undefined);
    expect(told()).toMatch(/certificate|altnames|issuer/i);
    expect((await world.show(id)).status).toBe("queued");
    expect((await other.state()).counters.binds).toBe(0);
    writeFileSync(caFile, "no certificate at all");
    expect(world.instance.restart()).rejects.toThrow("(sms.routes[0].links[0].ca_file) must hold certificates");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

for (const [name, begin, end] of [
  ["read-only", "PRAGMA query_only = 1", "PRAGMA query_only = 0"],
  ["full", "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 4294967294"],
] as const) {
  test(`while the database is ${name}: 503, no claims, 0x64 to receipts and texts, and the link stays`, async () => {
    await using world = await startTexting({ script: { retryMs: 200, receipts: { delayMs: 500 } } });
    const { instance, smsc } = world;
    const first = await textMany(world, 3);
    await smsc.until({ accepted: 3 });
    await waitUntil("it is recorded", 15_000, () => world.segments().every(({ state }) => state === "accepted"));
    instance.app.db.sqlite.run(begin);
    const body = { to: numberFor(90), body: LONG };
    await waitUntil("nothing is accepted", 10_000, async () => {
      const answer = await instance.workspace.call("POST", "/api/v1/sms", { body: { ...body, body: LONG.repeat(4) } });
      return answer.status === 503;
    });
    await smsc.until({ refused: 3 });
    const { submits } = (await smsc.state()).counters;
    await smsc.deliver("loja", {
      command: "deliver_sm",
      from: "258841111111",
      to: "Loja",
      esmClass: 0,
      dataCoding: 0,
      bytes: Buffer.from("Bom dia".repeat(20)).toString("hex"),
      isPayload: false,
      tlvs: [],
    });
    await smsc.tell("enquire", { times: 3 });
    await smsc.until({ enquireAnswers: 3, refused: 4 });
    expect((await smsc.state()).counters).toMatchObject({ submits, connections: 1, acknowledged: 0 });
    instance.app.db.sqlite.run(end);
    await delivered(world, first);
    await smsc.until({ acknowledged: 4 });
    const rest = await textMany(world, 3, 50);
    await delivered(world, rest);
    const accepted = instance.app.db.sqlite.query<{ uid: string }, []>("SELECT uid FROM sms_message").all();
    expect(
      (
        await judged(
          world,
          accepted.map(({ uid }) => uid),
        )
      ).broken,
    ).toEqual([]);
    expect(instance.bugs).toEqual([]);
  });
}

test("a database that another program has locked for 7 s: nothing is lost, nothing goes twice, the link stays", async () => {
  await using world = await startTexting({ script: { retryMs: 200, answerDelayMs: 300 } });
  const { instance, smsc } = world;
  const first = await textMany(world, 5);
  await smsc.until({ submits: 5 });
  const program = `const { Database } = require("bun:sqlite");
    const database = new Database(process.argv[1]);
    database.run("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE");
    console.log("locked");
    setTimeout(() => database.run("ROLLBACK"), 7000);`;
  const file = join(instance.directory, "pombo.db");
  const locker = Bun.spawn([process.execPath, "-e", program, file], { stdout: "pipe" });
  await locker.stdout.getReader().read();
  await smsc.tell("enquire", { times: 1 });
  await smsc.until({ enquireAnswers: 1 });
  await locker.exited;
  await delivered(world, first);
  const rest = await textMany(world, 3, 50);
  await delivered(world, rest);
  expect((await smsc.state()).counters.connections).toBe(1);
  expect(await judged(world, [...first, ...rest])).toMatchObject({ broken: [], marked: 0 });
  expect(instance.bugs).toEqual([]);
});
