// Every command: what it asks the instance for, and how it tells what came of it.
import { expect, test } from "bun:test";
import { runHere, type Scripted, startDesk, workspaceRecord } from "../../support/cli/kit.ts";

const W = workspaceRecord().id;
const ID = "01b1fd60-a478-7fc3-8fd7-7499a9ff2c18";
const TIME = "2026-01-31T08:15:00.000Z";
const DOMAIN = { id: ID, workspaceId: W, domain: "loja.test", status: "pending", createdAt: TIME, verifiedAt: null };
const NONE = { has_more: false, next_cursor: null };

interface Case {
  args: string[];
  /** The request that it comes to, and its body. */
  asks: string;
  body?: unknown;
  data: unknown;
  /** What a person reads. */
  says: string;
}

const BLOCKS = [
  { by: "operator", reason: "unpaid\u001b[2J", since: TIME, holdsQueue: true },
  { by: "rate", reason: null, since: TIME, holdsQueue: false },
];

const CASES: Case[] = [
  {
    args: ["workspace", "show", W],
    asks: `GET /operator/workspaces/${W}`,
    data: workspaceRecord({
      blocks: BLOCKS,
      smsCredits: 1,
      senderIds: [{ name: "LOJA", isDefault: true, priority: null }],
    }),
    says: `Loja da Maria
  ID          ${W}
  Plan        starter
  Created     2026-01-31 08:15:00 UTC
  Blocked     by the operator since 2026-01-31 08:15:00 UTC, its queue is held: unpaid\ufffd[2J
  Blocked     for too many bounces or complaints since 2026-01-31 08:15:00 UTC
  Emails      12 emails today, 3,400 this month
  Waiting     3 emails
  SMS         0 this month, 1 credit left; priority transactional, transliteration none
  Sender ids  LOJA (default)
  Domains     1
  API keys    2
  Contents    1.5 MiB
`,
  },
  {
    args: ["workspace", "plan", W, "scale"],
    asks: `PATCH /operator/workspaces/${W}`,
    body: { plan: "scale" },
    data: workspaceRecord({ plan: "scale" }),
    says: "Workspace Loja da Maria is on plan scale.\n",
  },
  {
    args: ["workspace", "rename", W, "Nova"],
    asks: `PATCH /operator/workspaces/${W}`,
    body: { name: "Nova" },
    data: workspaceRecord({ name: "Nova" }),
    says: `Workspace ${W} is now called Nova.\n`,
  },
  {
    args: ["workspace", "block", W],
    asks: `POST /operator/workspaces/${W}/block`,
    body: {},
    data: workspaceRecord({ blocks: BLOCKS }),
    says: "Workspace Loja da Maria is blocked; accepted messages are still sent.\n",
  },
  {
    args: ["workspace", "block", W, "--reason", "unpaid", "--hold"],
    asks: `POST /operator/workspaces/${W}/block`,
    body: { reason: "unpaid", hold: true },
    data: workspaceRecord({ blocks: BLOCKS }),
    says: "Workspace Loja da Maria is blocked; its queue is held.\n",
  },
  {
    args: ["workspace", "unblock", W],
    asks: `POST /operator/workspaces/${W}/unblock`,
    data: workspaceRecord(),
    says: "Workspace Loja da Maria may send again.\n",
  },
  {
    args: ["key", "create", W, "shop"],
    asks: `POST /operator/workspaces/${W}/keys`,
    body: { name: "shop" },
    data: { id: ID, name: "shop", key: "svc_y" },
    says: `API key shop of workspace ${W}, shown only now:\n  svc_y\n`,
  },
  {
    args: ["operator-key", "rotate"],
    asks: "POST /operator/key/rotate",
    data: { operatorKey: "svc_z" },
    says: "The new operator key (the old one is no longer valid), shown only now:\n  svc_z\n",
  },
  {
    args: ["credits", "grant", W, "1200", "--note", "invoice 7"],
    asks: `POST /operator/workspaces/${W}/credits`,
    body: { amount: 1200, note: "invoice 7" },
    data: { workspaceId: W, amount: 1200, balance: 1201, note: "invoice 7", createdAt: TIME },
    says: `1,200 credits granted: workspace ${W} has 1,201 credits.\n`,
  },
  {
    args: ["credits", "deduct", W, "1"],
    asks: `POST /operator/workspaces/${W}/credits`,
    body: { amount: -1 },
    data: { workspaceId: W, amount: -1, balance: 1, note: null, createdAt: TIME },
    says: `1 credit deducted: workspace ${W} has 1 credit.\n`,
  },
  {
    args: ["sender", "add", W, "LOJA", "--default", "--priority", "otp"],
    asks: `POST /operator/workspaces/${W}/sender-ids`,
    body: { name: "LOJA", isDefault: true, priority: "otp" },
    data: { name: "LOJA", isDefault: true, priority: "otp" },
    says: `Workspace ${W} may send SMS as LOJA, by default.\n`,
  },
  {
    args: ["workspace", "sms", W, "--transliterate", "portuguese", "--priority", "otp"],
    asks: `PATCH /operator/workspaces/${W}`,
    body: { smsFolding: "portuguese", smsPriority: "otp" },
    data: workspaceRecord({ smsFolding: "portuguese", smsPriority: "otp" }),
    says: "SMS of workspace Loja da Maria: priority otp, transliteration portuguese.\n",
  },
  {
    args: ["workspace", "sms", W],
    asks: `GET /operator/workspaces/${W}`,
    data: workspaceRecord(),
    says: "SMS of workspace Loja da Maria: priority transactional, transliteration none.\n",
  },
  {
    args: ["sender", "remove", W, "Loja & Cia"],
    asks: `DELETE /operator/workspaces/${W}/sender-ids/Loja%20%26%20Cia`,
    data: { name: "Loja & Cia", deleted: true },
    says: `Workspace ${W} can no longer send SMS as Loja & Cia.\n`,
  },
  {
    args: ["suppression", "held", "--apply", "--all"],
    asks: "POST /operator/held-suppressions/apply",
    body: { all: true },
    data: { applied: 1 },
    says: "1 address is now suppressed.\n",
  },
  {
    args: ["suppression", "held", W, "--drop", "--site", "mx.example.com"],
    asks: "POST /operator/held-suppressions/drop",
    body: { workspaceId: W, site: "mx.example.com" },
    data: { dropped: 2 },
    says: "2 held bounces dropped: their addresses are not suppressed.\n",
  },
  {
    args: ["domain", "suspend", ID],
    asks: `PATCH /operator/domains/${ID}`,
    body: { suspended: true },
    data: { ...DOMAIN, status: "suspended" },
    says: "loja.test is suspended: mail from it is refused.\n",
  },
  {
    args: ["domain", "resume", ID],
    asks: `PATCH /operator/domains/${ID}`,
    body: { suspended: false },
    data: DOMAIN,
    says: "loja.test is no longer suspended; it is pending.\n",
  },
];

test.each(CASES.map((each) => [each.args.join(" "), each] as const))(
  "pombo %s",
  async (_, { args, asks, body, data, says }) => {
    await using desk = startDesk(() => ({ data: data as Scripted["data"] }));
    expect(await desk.run(args)).toEqual({ code: 0, out: says, err: "" });
    expect(desk.asked).toEqual([{ line: asks, body: body ?? null }]);
    const json = await desk.run([...args, "--json"]);
    expect([json.code, json.err, json.out.split("\n").length]).toEqual([0, "", 2]);
    expect(JSON.parse(json.out)).toEqual(data);
  },
);

test("pombo workspace create shows the key once, and says when another workspace has the name", async () => {
  const rows = [workspaceRecord()];
  const made = { workspaceId: ID, workspaceName: "Loja", apiKey: { key: "svc_x" } };
  await using desk = startDesk(({ line }) => (line.startsWith("GET") ? { data: rows, meta: NONE } : { data: made }));
  const create = ["workspace", "create", "Loja", "--plan", "starter"];
  const key = "\n\nIts API key, shown only now:\n  svc_x\n";
  expect(await desk.run(create)).toEqual({ code: 0, out: `Workspace Loja is created: ${ID}${key}`, err: "" });
  expect(desk.asked.at(-1)).toEqual({ line: "POST /workspaces", body: { name: "Loja", plan: "starter" } });
  rows.push(workspaceRecord({ name: "Loja" }));
  const twice = "Another workspace has this name: from now on, use the ids in commands.";
  expect((await desk.run(create)).out).toBe(`Workspace Loja is created: ${ID}\n${twice}${key}`);
  desk.asked.length = 0;
  expect(JSON.parse((await desk.run([...create, "--json"])).out)).toEqual(made);
  expect(desk.asked).toHaveLength(1);
});

interface ListCase {
  args: string[];
  asks: string;
  rows: unknown[];
  screen: string[];
  piped: string[];
  empty: string;
}

const HELD = {
  workspaceId: W,
  address: "a@x.test",
  channel: "email",
  reason: "hard_bounce",
  site: "mx.x.test",
  heldAt: TIME,
};

const LISTS: ListCase[] = [
  {
    args: ["workspace", "list"],
    asks: "GET /operator/workspaces?",
    rows: [
      workspaceRecord(),
      workspaceRecord({ blocks: BLOCKS.slice(1) }),
      workspaceRecord({ blocks: BLOCKS, name: "two\twords" }),
    ],
    screen: [
      "ID             NAME           PLAN     STATE    MONTH  WAITING  CREATED",
      "01a1fd60-a478  Loja da Maria  starter  open      3400        3  2026-01-31",
      "01a1fd60-a478  Loja da Maria  starter  blocked   3400        3  2026-01-31",
      "01a1fd60-a478  two words      starter  held      3400        3  2026-01-31",
    ],
    piped: [
      `${W}\tLoja da Maria\tstarter\topen\t3400\t3\t${TIME}`,
      `${W}\tLoja da Maria\tstarter\tblocked\t3400\t3\t${TIME}`,
      `${W}\ttwo words\tstarter\theld\t3400\t3\t${TIME}`,
    ],
    empty: "There are no workspaces yet. Create one with pombo workspace create NAME.",
  },
  {
    args: ["credits", "list", W],
    asks: `GET /operator/workspaces/${W}/credits?`,
    rows: [
      { kind: "reservation", amount: -2, smsId: ID, segments: 2, note: null, createdAt: TIME },
      { kind: "grant", amount: -5, smsId: null, segments: null, note: null, createdAt: TIME },
    ],
    screen: [
      "TIME (UTC)           KIND         AMOUNT  SEGMENTS  SMS                 NOTE",
      "2026-01-31 08:15:00  reservation      -2         2  01b1fd60-a478-7fc3  -",
      "2026-01-31 08:15:00  grant            -5         -  -                   -",
    ],
    piped: [`${TIME}\treservation\t-2\t2\t${ID}\t-`, `${TIME}\tgrant\t-5\t-\t-\t-`],
    empty: "This workspace never had SMS credits. Grant some with pombo credits grant WORKSPACE AMOUNT.",
  },
  {
    args: ["suppression", "list", W, "--channel", "email"],
    asks: `GET /operator/workspaces/${W}/suppressions?channel=email&`,
    rows: [{ address: "a@x.t", reason: "manual", channel: "email", list: "l", suppressedAt: TIME }],
    screen: ["ADDRESS  CHANNEL  REASON  SUPPRESSED (UTC)     LIST", "a@x.t    email    manual  2026-01-31 08:15:00  l"],
    piped: [`a@x.t\temail\tmanual\t${TIME}\tl`],
    empty: "Nobody is suppressed. Add a list with pombo suppression import WORKSPACE FILE.",
  },
  {
    args: ["suppression", "held", W, "--site", "mx.x.test"],
    asks: `GET /operator/held-suppressions?workspaceId=${W}&site=mx.x.test&`,
    rows: [HELD],
    screen: [
      "ADDRESS   SITE       REASON       CHANNEL  HELD (UTC)           WORKSPACE",
      "a@x.test  mx.x.test  hard_bounce  email    2026-01-31 08:15:00  01a1fd60-a478",
    ],
    piped: [`a@x.test\tmx.x.test\thard_bounce\temail\t${TIME}\t${W}`],
    empty: "No bounces are held.",
  },
  {
    args: ["domain", "list", W],
    asks: `GET /operator/domains?workspaceId=${W}&`,
    rows: [DOMAIN],
    screen: [
      "ID             DOMAIN     STATUS   VERIFIED (UTC)  WORKSPACE",
      "01b1fd60-a478  loja.test  pending  -               01a1fd60-a478",
    ],
    piped: [`${ID}\tloja.test\tpending\t-\t${W}`],
    empty: "This workspace has registered no domain. Register one with pombo domain add NAME.",
  },
];

test.each(LISTS.map((each) => [each.args.join(" "), each] as const))(
  "pombo %s: as a table, for programs, as JSON, empty",
  async (_, list) => {
    let rows = list.rows;
    await using desk = startDesk(() => ({ data: rows, meta: NONE }));
    expect(await desk.run(list.args, { width: 80 })).toEqual({ code: 0, out: `${list.screen.join("\n")}\n`, err: "" });
    expect(desk.asked).toEqual([{ line: `${list.asks}limit=100`, body: null }]);
    expect(await desk.run(list.args)).toEqual({ code: 0, out: `${list.piped.join("\n")}\n`, err: "" });
    const json = await desk.run([...list.args, "--json"], { width: 80 });
    expect([json.out.split("\n").length, JSON.parse(json.out)]).toEqual([2, rows]);
    rows = [];
    expect(await desk.run(list.args, { width: 120 })).toEqual({ code: 0, out: `${list.empty}\n`, err: "" });
    // Another program gets an empty list, and a person beside it the words.
    expect(await desk.run(list.args)).toEqual({ code: 0, out: "", err: `${list.empty}\n` });
    expect((await desk.run([...list.args, "--json"])).out).toBe("[]\n");
  },
);

test("bounces that wait for long are pointed out, beside the list", async () => {
  const old = { ...HELD, hint: "Held for more than 30 days: apply it or drop it." };
  await using desk = startDesk(() => ({ data: [old, HELD, old], meta: NONE }));
  const { out, err } = await desk.run(["suppression", "held"]);
  expect(out.trimEnd().split("\n")).toHaveLength(3);
  expect(err).toBe("2 of these are older than 30 days: decide with --apply or --drop.\n");
  expect((await desk.run(["suppression", "held", "--json"])).err).toBe("");
});

test("the sender ids of a workspace are those of its record", async () => {
  await using desk = startDesk(() => ({
    data: workspaceRecord({
      senderIds: [
        { name: "LOJA", isDefault: true, priority: "otp" },
        { name: "Promo", isDefault: false, priority: null },
      ],
    }),
  }));
  expect((await desk.run(["sender", "list", W])).out).toBe("yes\totp\tLOJA\nno\t-\tPromo\n");
  expect(desk.asked).toEqual([{ line: `GET /operator/workspaces/${W}`, body: null }]);
});

test("every page of a list is read, with what was asked of the first", async () => {
  await using desk = startDesk(({ line }) =>
    line.includes("cursor=a%2Bb")
      ? { data: [{ ...DOMAIN, domain: "b.test" }], meta: NONE }
      : { data: [DOMAIN], meta: { has_more: true, next_cursor: "a+b" } },
  );
  const { out } = await desk.run(["domain", "list", W, "--json"]);
  expect(JSON.parse(out)).toHaveLength(2);
  expect(desk.asked.map(({ line }) => line)).toEqual([
    `GET /operator/domains?workspaceId=${W}&limit=100`,
    `GET /operator/domains?workspaceId=${W}&limit=100&cursor=a%2Bb`,
  ]);
});

test("a deletion that is not confirmed says what would go and how to confirm it, and ends with 2", async () => {
  await using desk = startDesk(({ line }) =>
    line.startsWith("DELETE") ? { data: { id: W, deleted: true } } : { data: workspaceRecord({ smsCredits: 20 }) },
  );
  for (const args of [
    ["workspace", "delete", W],
    ["workspace", "delete", W, "--json"],
  ]) {
    expect(await desk.run(args)).toEqual({
      code: 2,
      out: "",
      err: `This deletes workspace Loja da Maria (${W}) for good: 1 domain, 2 API keys, 3 waiting emails, 20 SMS credits, and the records of all its messages. Nothing was deleted. To confirm:\n\n  pombo workspace delete ${W} --yes\n`,
    });
  }
  expect(desk.asked.map(({ line }) => line)).toEqual(Array(2).fill(`GET /operator/workspaces/${W}`));
  expect(await desk.run(["workspace", "delete", W, "--yes"])).toEqual({
    code: 0,
    out: `Workspace Loja da Maria (${W}) is deleted.\n`,
    err: "",
  });
  expect(desk.asked.at(-1)).toEqual({ line: `DELETE /operator/workspaces/${W}`, body: null });
  expect(JSON.parse((await desk.run(["workspace", "delete", W, "--yes", "--json"])).out)).toEqual({
    id: W,
    deleted: true,
  });
});

test("a refusal is told on standard error with the API's words and hint, each fault on its line", async () => {
  await using desk = startDesk(() => ({
    status: 422,
    errors: [
      {
        code: "VALIDATION_ERROR",
        message: "plan must be one of the configured plans: a, b",
        field: "plan",
        hint: "Choose one.",
      },
      { code: "VALIDATION_ERROR", message: "name must not be \u001b[2J" },
    ],
  }));
  expect(await desk.run(["workspace", "create", "x", "--json"])).toEqual({
    code: 1,
    out: "",
    err: "plan must be one of the configured plans: a, b. Choose one.\nname must not be \ufffd[2J.\n",
  });
});

test("an instance that does not know a command yet is told apart from a refusal", async () => {
  await using older = startDesk(() => ({
    status: 404,
    errors: [{ code: "NOT_FOUND", message: "There is nothing at this path", hint: "The routes are listed." }],
  }));
  expect((await older.run(["workspace", "list"])).err).toBe(
    "The running instance is older than this command: restart it.\n",
  );
});

test("where there is no configuration and no directory is named, both ways are told", async () => {
  const said = await runHere(["workspace", "list", "--config", "/nonexistent/pombo.toml"]);
  expect(said.code).toBe(1);
  expect(said.err).toContain("There is no configuration at /nonexistent/pombo.toml");
  expect(said.err).not.toContain("sandbox");
});
