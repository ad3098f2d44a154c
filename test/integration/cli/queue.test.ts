// `pombo queue …`: what is asked of the instance, and what a person and a program are told.
import { expect, test } from "bun:test";
import { readTime } from "../../../src/cli/commands/queue/filter.ts";
import type { Json } from "../../support/fakes/instance.ts";
import { type Asked, runHere, type Scripted, startDesk, workspaceRecord } from "../../support/cli/kit.ts";

const W = workspaceRecord().id;
const ID = "01b1fd60-a478-7fc3-8fd7-7499a9ff2c18";
const TIME = "2026-01-31T08:15:00.000Z";
const NONE = { email: 0, sms: 0, webhook: 0 };
const part = (changes: Json = {}): Json => ({
  changed: NONE,
  running: NONE,
  unknown: [],
  ended: [],
  next: null,
  ...changes,
});
const DESTINATION = {
  ...{ to: "example.com", site: "mx.example.com", waiting: 1_200, running: 2, held: 0 },
  ...{ oldestAt: TIME, nextAttemptAt: TIME, state: "blocked", reason: "421 4.7.0 \u001b[31mslow down" },
  blockedUntil: TIME,
};
const OVERVIEW = {
  ...{ paused: null, waiting: 1_203, running: 2, scheduled: 0, others: { destinations: 4, waiting: 9 } },
  destinations: [DESTINATION, { ...DESTINATION, to: "b.test", state: "held", blockedUntil: null }],
  sms: [
    {
      route: "vodacom",
      waiting: 3,
      isMinimum: false,
      running: 1,
      oldestAt: "2026-01-31T08:14:00.000Z",
      nextAttemptAt: TIME,
      reason: "No link of the route is bound",
    },
  ],
  webhooks: [
    {
      id: ID,
      workspaceId: W,
      url: "https://x.test/h",
      waiting: 1,
      isMinimum: false,
      nextAttemptAt: TIME,
      reason: null,
    },
  ],
};

test("the overview is a table of all three queues for people, lines for programs, and the API's data as JSON", async () => {
  await using desk = startDesk(() => ({ data: OVERVIEW }));
  const shown = (await runHere(["queue", "--data-dir", desk.folder], { width: 200 })).out;
  expect(shown).toContain("1,203 emails wait, 2 being delivered.");
  expect(shown).toContain("example.com");
  expect(shown).toContain("the site is blocked until 2026-01-31 08:15:00: 421 4.7.0 \ufffd[31mslow down");
  expect(shown).toContain("you hold the queue of their workspaces");
  expect(shown).toMatch(/sms +vodacom .*2026-01-31 08:14:00 .*No link of the route is bound/);
  expect(shown).toContain("and 4 destinations more, with 9 emails");
  const lines = (await desk.run(["queue", "--limit=7"])).out.trimEnd().split("\n");
  expect(lines.map((line) => line.split("\t")[0])).toEqual(["email", "email", "sms", "webhook"]);
  expect(JSON.parse((await desk.run(["queue", "--json"])).out)).toEqual(OVERVIEW);
  expect(desk.asked.map(({ line }) => line)).toEqual([
    "GET /operator/queue",
    "GET /operator/queue?limit=7",
    "GET /operator/queue",
  ]);
  for (const limit of ["0", "x", "1001"]) expect((await desk.run(["queue", `--limit=${limit}`])).code).toBe(2);
});

test("a pause stands above everything", async () => {
  const paused = { since: TIME, reason: "restored from a copy" };
  await using desk = startDesk(() => ({ data: { ...OVERVIEW, paused, destinations: [], sms: [], webhooks: [] } }));
  const { out } = await runHere(["queue", "--data-dir", desk.folder], { width: 100 });
  expect(out).toStartWith("All delivery is paused since 2026-01-31 08:15:00 UTC: restored from a copy\n");
  await using full = startDesk(() => ({ data: { ...OVERVIEW, paused } }));
  const lines = (await runHere(["queue", "--data-dir", full.folder])).out.trimEnd().split("\n");
  expect(lines.slice(2).map((line) => line.split("\t").at(-1))).toEqual([
    "all delivery is paused; No link of the route is bound",
    "all delivery is paused",
  ]);
});

test("delivery is paused with a reason, and resumed", async () => {
  const paused = { since: TIME, reason: "on a list", restorePoint: null };
  await using desk = startDesk(({ line }) => ({ data: { paused: line.endsWith("pause") ? paused : null } }));
  const held = await desk.run(["queue", "pause", "--reason", "on a list"]);
  expect(held).toEqual({ code: 0, out: "Delivery is paused. Resume it with pombo queue resume.\n", err: "" });
  expect((await desk.run(["queue", "resume"])).out).toBe("Delivery is resumed.\n");
  expect(desk.asked).toEqual([
    { line: "POST /operator/queue/pause", body: { reason: "on a list" } },
    { line: "POST /operator/queue/resume", body: null },
  ]);
});

test("what was queued before the restore point is named by that", async () => {
  let restorePoint: string | null = TIME;
  await using desk = startDesk(({ line }) => ({
    data: line.startsWith("GET /operator/status")
      ? { paused: { since: TIME, reason: "restored", restorePoint } }
      : { changed: { email: 2, sms: 0, webhook: 0 }, running: NONE_RUNNING, unknown: [], ended: [], next: null },
  }));
  const drop = ["queue", "drop", "--yes", "--queued-before"];
  expect((await desk.run([...drop, "restore point"])).out).toBe("2 emails dropped.\n");
  expect(desk.asked.at(-1)?.body).toEqual({ queuedBefore: TIME });
  restorePoint = null;
  const { code, err } = await desk.run([...drop, "restore-point"]);
  expect([code, err.split("\n")[0]]).toEqual([
    2,
    "pombo queue drop: There is no restore point, as delivery is not paused after a restore: give a time.",
  ]);
});

const NONE_RUNNING = { email: 0, sms: 0, webhook: 0 };

const MESSAGE = {
  ...{ kind: "email", id: ID, workspaceId: W, to: "maria@example.com", queuedAt: TIME, state: "delivery_delayed" },
  ...{ attempts: 2, nextAttemptAt: TIME, expiresAt: TIME, lastReply: "451 later" },
};

test("single messages are listed by destination, workspace, time and kind", async () => {
  await using desk = startDesk(({ line }) => {
    if (line.startsWith("GET /operator/workspaces")) return { data: [workspaceRecord()], meta: { next_cursor: null } };
    return { data: [MESSAGE, MESSAGE], meta: { has_more: true, next_cursor: "x" } };
  });
  const { out, err } = await desk.run([
    ...["queue", "list", "--to", "example.com", "--workspace", "Loja da Maria"],
    ...["--queued-before", "2026-11-21T12:00Z", "--limit", "3"],
  ]);
  expect(out.trimEnd().split("\n")).toHaveLength(3);
  expect(out).toContain(`${ID}\tmaria@example.com\tdelivery_delayed\t2\t${TIME}\t${TIME}\t451 later`);
  expect(err).toContain("These are the first 3");
  const [, first, second] = desk.asked.map(({ line }) => new URLSearchParams(line.split("?")[1]));
  expect(Object.fromEntries(first ?? [])).toMatchObject({
    to: "example.com",
    workspaceId: W,
    queuedBefore: "2026-11-21T12:00:00.000Z",
  });
  expect(second?.get("cursor")).toBe("x");
  await desk.run(["queue", "list", "--sms", "--limit", "1", "--json"]);
  expect(desk.asked.at(-1)?.line).toContain("kind=sms");
  expect((await desk.run(["queue", "list", "--sms", "--webhooks"])).code).toBe(2);
});

/** Two parts of a drop of three emails and a text, one of each under way. */
function dropping({ line, body }: Asked): Scripted {
  if (line !== "POST /operator/queue/drop") return { status: 404, errors: [{ message: "?" }] };
  const running = { ...NONE, email: body.cursor === undefined ? 1 : 0 };
  if (body.cursor === undefined) return { data: part({ changed: { ...NONE, email: 2 }, running, next: "c" }) };
  return { data: part({ changed: { ...NONE, email: 1, sms: 1 }, running }) };
}

test("drop counts first, does nothing without a yes, and then all of it part by part", async () => {
  await using desk = startDesk(dropping);
  const unconfirmed = await desk.run(["queue", "drop", "--to", "example.com"]);
  expect([unconfirmed.code, unconfirmed.out]).toEqual([2, ""]);
  expect(unconfirmed.err).toBe(
    "This drops 3 emails and 1 SMS: they will not be sent, and their status becomes failed. Nothing was dropped. To confirm, repeat the command with --yes.\n",
  );
  expect(desk.asked.every(({ body }) => body.dryRun === true)).toBe(true);
  expect((await desk.run(["queue", "drop", "--to", "example.com", "--json"])).code).toBe(2);
  desk.asked.length = 0;
  const done = await desk.run(["queue", "drop", "--to", "example.com", "--yes", "--reason", "spam"]);
  expect([done.code, done.out]).toEqual([
    0,
    "3 emails and 1 SMS dropped.\n1 email is being delivered now, and left alone.\n",
  ]);
  expect(desk.asked.slice(2).map(({ body }) => body)).toEqual([
    { to: "example.com", reason: "spam" },
    { to: "example.com", reason: "spam", cursor: "c" },
  ]);
  const json = JSON.parse((await desk.run(["queue", "drop", "--queued-before", "now", "--yes", "--json"])).out);
  expect(json).toEqual({
    changed: { email: 3, sms: 1, webhook: 0 },
    running: { ...NONE, email: 1 },
    unknown: [],
    ended: [],
  });
});

test("who sits at a terminal is asked, and only yes is a yes", async () => {
  await using desk = startDesk(dropping);
  const args = ["queue", "drop", "--workspace", W];
  for (const input of ["no\n", "y\n", "", "yes please\n"]) {
    const { code, out, err } = await desk.run(args, { isInteractive: true, width: 100, input });
    expect([input, code, out]).toEqual([input, 2, ""]);
    expect(err).toContain("Type yes to drop them:");
    expect(err).toContain("Nothing was dropped.");
  }
  const { code, out } = await desk.run(args, { isInteractive: true, width: 100, input: "yes\n" });
  expect([code, out]).toEqual([0, expect.stringContaining("3 emails and 1 SMS dropped.")]);
});

test("what is meant must be said, once and whole", async () => {
  await using desk = startDesk(dropping);
  for (const args of [
    ["drop"],
    ["drop", "--emails"],
    ["drop", "--all"],
    ["drop", ID, "--to", "x.test"],
    ["drop", "--queued-before", "yesterday"],
    ["retry"],
    ["retry", "--all", "--to", "x.test"],
    ["retry", "--all", ID],
  ]) {
    const { code, out } = await desk.run(["queue", ...args]);
    expect([args, code, out]).toEqual([args, 2, ""]);
  }
  expect(desk.asked).toEqual([]);
});

test("retry says how many are due now; ids that nothing has end it with 1", async () => {
  await using desk = startDesk(({ body }) => ({
    data: part({
      changed: { ...NONE, email: body.ids === undefined ? 0 : 1 },
      unknown: body.ids?.length === 3 ? [ID] : [],
      ended: body.ids?.length === 3 ? [W] : [],
    }),
  }));
  expect((await desk.run(["queue", "retry", ID])).out).toBe("1 email is due now.\n");
  expect(desk.asked.at(-1)).toEqual({ line: "POST /operator/queue/retry", body: { ids: [ID] } });
  expect((await desk.run(["queue", "retry", "--all", "--webhooks"])).out).toBe(
    "No such message waits for a later attempt.\n",
  );
  expect(desk.asked.at(-1)?.body).toEqual({ all: true, kinds: ["webhook"] });
  const partly = await desk.run(["queue", "retry", ID, W, ID]);
  expect([partly.code, partly.out]).toEqual([
    1,
    `1 email is due now.\nNo longer waiting: ${W}.\nUnknown ids: ${ID}.\n`,
  ]);
});

const FOUND = ["email", "event", "sms"].map((kind, index) => ({
  ...{ kind, id: `01b1fd60-a478-7fc${index}-8fd7-7499a9ff2c18`, workspaceId: W, from: "", to: "a@x.test" },
  ...{ status: "queued", createdAt: TIME },
}));

/** Finds what begins as asked. */
function finding({ line, body }: Asked): Scripted {
  const prefix = /^GET \/operator\/trace\?find=(.*)&events=true$/.exec(line)?.[1];
  if (prefix !== undefined) return { data: FOUND.filter(({ id }) => id.startsWith(prefix)) };
  return { data: part({ changed: { ...NONE, email: body.ids.length } }) };
}

test("the short ids that queue list shows are enough, for emails, SMS and events", async () => {
  await using desk = startDesk(finding);
  const short = FOUND.map(({ id }) => id.slice(0, 18));
  expect((await desk.run(["queue", "retry", ...short])).out).toBe("3 emails are due now.\n");
  expect(desk.asked.at(-1)).toEqual({ line: "POST /operator/queue/retry", body: { ids: FOUND.map(({ id }) => id) } });
});

test("the beginning of several ids changes nothing, and names them; one of none too", async () => {
  await using desk = startDesk(finding);
  for (const verb of ["retry", "drop"]) {
    const several = await desk.run(["queue", verb, "01b1fd60-a478"]);
    expect([several.code, several.out]).toEqual([1, ""]);
    expect(several.err).toBe(
      [
        '"01b1fd60-a478" matches several messages; give the id:',
        ...FOUND.map(({ id, kind }) => `  ${id}  ${kind}  queued  a@x.test`),
        "",
      ].join("\n"),
    );
    for (const none of ["01b1fd60-b", "01b1", "../x"])
      expect((await desk.run(["queue", verb, none])).err).toStartWith(`There is no message "${none}". Give its id`);
  }
  expect(desk.asked.filter(({ line }) => line.startsWith("POST"))).toEqual([]);
});

test("a time may be given in several ways, and is UTC", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  expect(readTime("now", now)).toBe("2026-11-21T12:00:00.000Z");
  expect(readTime("2h", now)).toBe("2026-11-21T10:00:00.000Z");
  expect(readTime("2026-11-20", now)).toBe("2026-11-20T00:00:00.000Z");
  expect(readTime("2026-11-20 08:30", now)).toBe("2026-11-20T08:30:00.000Z");
  expect(readTime("2026-11-20T08:30:15+02:00", now)).toBe("2026-11-20T06:30:15.000Z");
  for (const wrong of ["", "soon", "2026-13-01", "-2h", "12:00"])
    expect(() => readTime(wrong, now)).toThrow("must be a time");
});

test("where no email waits it is said what does, and how it is listed", async () => {
  const waiting: Record<string, Json[]> = { sms: [MESSAGE, MESSAGE], webhook: [MESSAGE] };
  await using desk = startDesk(({ line }) => {
    const kind = new URLSearchParams(line.split("?")[1]).get("kind") ?? "email";
    return { data: waiting[kind] ?? [], meta: { next_cursor: null } };
  });
  const said = async (...args: string[]) => (await desk.run(["queue", "list", ...args])).err;
  expect(await said()).toBe("No email waits; 2 SMS do, 1 webhook call does: add --sms or --webhooks.\n");
  waiting["webhook"] = [];
  expect(await said("--queued-before", "now")).toBe("No such email waits; 2 SMS do: add --sms.\n");
  expect(await said("--webhooks")).toBe("No webhook call waits; 2 SMS do: instead of --webhooks give --sms.\n");
  expect(await said("--to", "example.com")).toBe("No such message waits.\n");
  waiting["sms"] = [];
  expect(await said()).toBe("Nothing waits.\n");
  expect(await said("--sms")).toBe("Nothing waits.\n");
  expect(await said("--queued-before", "now")).toBe("No such message waits.\n");
});

test("drop and retry without a choice say how every message is meant", async () => {
  await using desk = startDesk(dropping);
  const options = "Choose messages by ids, --to, --workspace or --queued-before;";
  expect((await desk.run(["queue", "drop", "--sms"])).err).toContain(`${options} --queued-before now means all.`);
  expect((await desk.run(["queue", "retry", "--sms"])).err).toContain(`${options} --all means all.`);
});
