import { expect, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, omit, totalOf, UUID_V7 } from "../../support/api/kit.ts";

const BATCH = "/api/v1/emails/batch";

/** `count` sends that work, each with a subject of its own; some replaced. */
function items(pombo: Instance, count: number, replaced: Record<number, unknown> = {}): unknown[] {
  return Array.from({ length: count }, (_, index) => replaced[index] ?? pombo.email({ subject: `number ${index}` }));
}

const sendBatch = (pombo: Instance, emails: unknown) => pombo.workspace.call("POST", BATCH, { body: { emails } });

test("a batch answers one id for each item in the order of the request, and each is delivered", async () => {
  await using pombo = await startInstance();
  const { status, body } = await sendBatch(pombo, items(pombo, 25));
  expect(status).toBe(202);
  expect(Object.keys(body)).toEqual(["data"]);
  expect(body.data).toHaveLength(25);
  for (const [index, accepted] of body.data.entries()) {
    expect(accepted).toEqual({ id: expect.stringMatching(UUID_V7), status: "queued" });
    const { data } = (await pombo.workspace.call("GET", `/api/v1/emails/${accepted.id}`)).body;
    expect(data.subject).toBe(`number ${index}`);
  }
  await pombo.mx.until(() => pombo.mx.messages.length === 25);
  const subjects = pombo.mx.messages.map(({ content }) => /^Subject: (.+?)\r$/m.exec(content.toString())?.[1]);
  expect(new Set(subjects).size).toBe(25);
  expect(await totalOf(pombo.workspace)).toBe(25);
});

test("a batch holds 1 to 1,000 items under any plan", async () => {
  await using pombo = await startInstance();
  expectErrors(await sendBatch(pombo, []), 422, [{ field: "emails", message: "emails must hold at least 1 item" }]);
  expect((await sendBatch(pombo, items(pombo, 1))).status).toBe(202);
  const full = await sendBatch(pombo, items(pombo, 1000));
  expect([full.status, full.body.data?.length]).toEqual([202, 1000]);
  expect(await totalOf(pombo.workspace)).toBe(1001);
  expectErrors(await sendBatch(pombo, items(pombo, 1001)), 422, [{ field: "emails", message: "at most 1000 items" }]);
  // The items of a batch that is too long are not looked at.
  expectErrors(await sendBatch(pombo, items(pombo, 20_000, { 7: {} })), 422, [
    { field: "emails", message: "at most 1000 items" },
  ]);
  expect(await totalOf(pombo.workspace)).toBe(1001);
}, 30_000);

test("a plan's batch limit is told with the field emails and how many it allows", async () => {
  await using pombo = await startInstance();
  for (const [plan, limit] of [
    ["launch", 50],
    ["starter", 100],
    ["growth", 500],
  ] as const) {
    const workspace = await pombo.newWorkspace(plan);
    await pombo.addDomain(workspace, `${plan}.test`);
    const emails = Array.from({ length: limit + 1 }, () => pombo.email({ from: `a@${plan}.test` }));
    const over = await workspace.call("POST", BATCH, { body: { emails } });
    expectErrors(over, 422, [
      {
        code: "BATCH_LIMIT_EXCEEDED",
        field: "emails",
        message: `allows ${limit} emails in a batch; this one has ${limit + 1}`,
      },
    ]);
    expect(errorItems(over)[0]?.hint).toContain("Split the batch");
    expect(await totalOf(workspace)).toBe(0);
    const exact = await workspace.call("POST", BATCH, { body: { emails: emails.slice(1) } });
    expect([exact.status, exact.body.data?.length]).toEqual([202, limit]);
  }
}, 30_000);

test("the faults of fields come before the plan's limit, and that before the domain", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("launch");
  const emails = (last: object) => [...Array.from({ length: 50 }, () => pombo.email()), last];
  const faulty = await workspace.call("POST", BATCH, { body: { emails: emails(omit(pombo.email(), "to")) } });
  expectErrors(faulty, 422, [{ field: "to", path: "emails[50].to" }]);
  expectErrors(await workspace.call("POST", BATCH, { body: { emails: emails(pombo.email()) } }), 422, [
    { code: "BATCH_LIMIT_EXCEEDED", field: "emails" },
  ]);
  expectErrors(await workspace.call("POST", BATCH, { body: { emails: [pombo.email()] } }), 422, [
    { field: "from", path: "emails[0].from", message: "Domain not verified" },
  ]);
});

test("emails itself may be missing, of another type, or beside strangers", async () => {
  await using pombo = await startInstance();
  expectErrors(await pombo.workspace.call("POST", BATCH, { body: {} }), 422, [
    { field: "emails", message: "emails is required" },
  ]);
  for (const [wrong, kind] of [
    [1, "a number"],
    [null, "null"],
    [{}, "an object"],
    ["x", "a string"],
  ] as const) {
    expectErrors(await sendBatch(pombo, wrong), 422, [
      { field: "emails", message: `emails must be an array, not ${kind}` },
    ]);
  }
  const strange = await pombo.workspace.call("POST", BATCH, { body: { emails: items(pombo, 1), from: "a@b.c" } });
  expectErrors(strange, 422, [{ field: "from", message: "from is not a member of this request" }]);
});

test("every fault of every item is named with its field and its path", async () => {
  await using pombo = await startInstance();
  const faulty = {
    1: { ...pombo.email({ to: "x" }), extra: 1 },
    2: 7,
    3: null,
    4: ["a"],
    5: omit(pombo.email(), "text"),
    36: {},
  };
  expectErrors(await sendBatch(pombo, items(pombo, 40, { ...faulty, 3: "null" })), 422, [
    { field: "to", path: "emails[1].to", message: /^to is not a usable address/ },
    { field: "extra", path: "emails[1].extra", message: /^extra is not a member/ },
    { field: "emails", path: "emails[2]", message: "emails[2] must be an object, not a number" },
    { field: "emails", path: "emails[3]", message: "emails[3] must be an object, not a string" },
    { field: "emails", path: "emails[4]", message: "emails[4] must be an object, not an array" },
    { field: "html", path: "emails[5].html", message: "html or text is required" },
    ...["from", "to", "subject", "html"].map((field) => ({ field, path: `emails[36].${field}` })),
  ]);
});

test("one fault in the 37th item leaves nothing of the batch behind", async () => {
  await using pombo = await startInstance({ mx: { rcpt: "550 5.1.1 No such user" } });
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to: "gone@example.com" }) });
  await pombo.mx.until(() =>
    pombo.mx.connections.some(({ commands }) => commands.some((line) => line.startsWith("RCPT"))),
  );
  await pombo.app.worker.idle();
  const cases: [unknown, string, string, string][] = [
    [pombo.email({ subject: "" }), "VALIDATION_ERROR", "subject", "must not be empty"],
    [pombo.email({ from: "a@unknown.test" }), "VALIDATION_ERROR", "from", "Domain not verified"],
    [pombo.email({ to: "gone@example.com" }), "RECIPIENT_SUPPRESSED", "to", "suppressed"],
  ];
  for (const [faulty, code, field, message] of cases) {
    const answer = await sendBatch(pombo, items(pombo, 60, { 36: faulty }));
    expectErrors(answer, 422, [{ code, field, path: `emails[36].${field}`, message }]);
    expect(await totalOf(pombo.workspace)).toBe(1);
  }
  const rows = pombo.app.db.sqlite
    .query("SELECT (SELECT count(*) FROM email) + (SELECT count(*) FROM email_queue) AS count")
    .get();
  expect(rows).toEqual({ count: 1 });
});

test("every unverified sender and every suppressed recipient of a batch is named", async () => {
  await using pombo = await startInstance();
  const unverified = { 0: pombo.email({ from: "a@one.test" }), 2: pombo.email({ from: "a@two.test" }) };
  expectErrors(await sendBatch(pombo, items(pombo, 3, unverified)), 422, [
    { field: "from", path: "emails[0].from", message: "Domain not verified" },
    { field: "from", path: "emails[2].from", message: "Domain not verified" },
  ]);
});

test("5,000 faults are answered at once, in bounded time and size, while others are served", async () => {
  await using pombo = await startInstance();
  const emails = Array.from({ length: 1000 }, () => ({ bcc: 1 }));
  const startedAt = performance.now();
  const answer = await sendBatch(pombo, emails);
  const tookMs = performance.now() - startedAt;
  expect(answer.status).toBe(422);
  expect(answer.body.errors).toHaveLength(5000);
  expect(answer.body.errors[4999]).toMatchObject({ path: expect.stringMatching(/^emails\[999\]\./) });
  expect(answer.text.length).toBeLessThan(1_000_000);
  expect(tookMs).toBeLessThan(2_000);
});

test("with more faults than 10,000 the answer ends in saying so, and long names are cut", async () => {
  await using pombo = await startInstance();
  const strangers = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${"n".repeat(500)}${index}`, 1]));
  const answer = await sendBatch(
    pombo,
    Array.from({ length: 200 }, () => strangers),
  );
  expect(answer.status).toBe(422);
  expect(answer.body.errors).toHaveLength(10_001);
  expect(answer.body.errors.at(-1)).toEqual({
    code: "VALIDATION_ERROR",
    message: "The body has more errors than these 10,000",
  });
  expect(answer.text.length).toBeLessThan(10_000_000);
});
