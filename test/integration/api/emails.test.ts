import { expect, test } from "bun:test";
import { type Instance, SENDING_DOMAIN, startInstance } from "../../support/fakes/instance.ts";
import {
  expectErrors,
  errorItems,
  type ExpectedFault,
  omit,
  TIMESTAMP,
  totalOf,
  UNKNOWN_ID,
  UUID_V7,
} from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const EMOJI = "😀";

const send = (pombo: Instance, changes: Record<string, unknown> = {}) =>
  pombo.workspace.call("POST", EMAILS, { body: pombo.email(changes) });

test("an accepted email reaches the recipient's MX and is told as delivered", async () => {
  await using pombo = await startInstance();
  const sent = await send(pombo);
  expect(sent.status).toBe(202);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  const { body } = await pombo.workspace.call("GET", `${EMAILS}/${sent.body.data.id}`);
  expect(body.data).toMatchObject({ status: "delivered", attempts: 1, failedReason: null });
  expect(pombo.bugs).toEqual([]);
});

test("a send answers 202 with the id and the status queued and nothing else", async () => {
  await using pombo = await startInstance();
  const { status, body, headers } = await send(pombo);
  expect(status).toBe(202);
  expect(body).toEqual({ data: { id: expect.stringMatching(UUID_V7), status: "queued" } });
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  expect(headers.get("x-request-id")).toMatch(UUID_V7);
  expect(headers.get("idempotent-replayed")).toBeNull();
});

// A recipient of exactly 254 octets, the most that RFC 5321 §4.5.3.1.3 leaves for an address.
const LABEL = "d".repeat(63);
const LONGEST_TO = `${"l".repeat(64)}@${LABEL}.${LABEL}.${"d".repeat(57)}.com`;
const displayName = (name: string) => `${name} <loja@${SENDING_DOMAIN}>`;
const namePoints = 255 - displayName("").length;

const NO_CONTENT: ExpectedFault = { field: "html", message: "html or text is required" };

/** What is sent instead of, or (undefined) left out of, a send that works; then its faults, none for accepted. */
const FIELD_RULES: [what: string, changes: Record<string, unknown>, ...faults: ExpectedFault[]][] = [
  ["from is left out", { from: undefined }, { field: "from", message: "from is required" }],
  ["from is null", { from: null }, { field: "from", message: "from must be a string, not null" }],
  ["from is a number", { from: 5 }, { field: "from", message: "from must be a string, not a number" }],
  ["from is an array", { from: [`a@${SENDING_DOMAIN}`] }, { field: "from", message: "must be a string, not an array" }],
  ["from is empty", { from: "" }, { field: "from", message: "from must not be empty" }],
  ["from is a bare address", { from: `loja@${SENDING_DOMAIN}` }],
  ["from has a quoted name", { from: `"Loja, Lda" <loja@${SENDING_DOMAIN}>` }],
  ["from has 255 characters", { from: displayName("n".repeat(namePoints)) }],
  [
    "from has 256 characters",
    { from: displayName("n".repeat(namePoints + 1)) },
    { field: "from", message: "from must have at most 255 characters" },
  ],
  ["from has 255 code points, most of them emoji", { from: displayName(EMOJI.repeat(namePoints)) }],
  [
    "from has 256 code points",
    { from: displayName(EMOJI.repeat(namePoints + 1)) },
    { field: "from", message: "at most 255" },
  ],
  ["to is left out", { to: undefined }, { field: "to", message: "to is required" }],
  ["to is null", { to: null }, { field: "to", message: "to must be a string, not null" }],
  ["to is an object", { to: {} }, { field: "to", message: "to must be a string, not an object" }],
  ["to is empty", { to: "" }, { field: "to", message: "to must not be empty" }],
  [
    "to has a display name with a comma",
    { to: "Silva, Maria <maria@example.com>" },
    { field: "to", message: /^to is not a usable address/ },
  ],
  ["to is two addresses", { to: "a@example.com,b@example.com" }, { field: "to", message: "exactly one address" }],
  ["to has no @", { to: "maria" }, { field: "to", message: "has no @" }],
  ["to is an address literal", { to: "maria@[192.0.2.1]" }, { field: "to", message: "give a domain name" }],
  ["to has 254 characters", { to: LONGEST_TO }],
  [
    "to has 255 characters",
    { to: LONGEST_TO.replace(".com", ".comm") },
    { field: "to", message: "longer than 254 octets" },
  ],
  [
    "to has 256 characters",
    { to: LONGEST_TO.replace(".com", ".commm") },
    { field: "to", message: "to must have at most 255 characters" },
  ],
  ["to is beyond ASCII", { to: "maría@exemplo-ç.com" }],
  ["subject is left out", { subject: undefined }, { field: "subject", message: "subject is required" }],
  ["subject is null", { subject: null }, { field: "subject", message: "must be a string, not null" }],
  ["subject is true", { subject: true }, { field: "subject", message: "must be a string, not true or false" }],
  ["subject is empty", { subject: "" }, { field: "subject", message: "subject must not be empty" }],
  ["subject has one character", { subject: "x" }],
  ["subject has 255 characters", { subject: "x".repeat(255) }],
  ["subject has 256 characters", { subject: "x".repeat(256) }, { field: "subject", message: "at most 255 characters" }],
  ["subject has 255 emoji", { subject: EMOJI.repeat(255) }],
  ["subject has 256 emoji", { subject: EMOJI.repeat(256) }, { field: "subject", message: "at most 255 characters" }],
  ["html is null", { html: null }, { field: "html", message: "html must be a string, not null" }],
  [
    "html is null and there is no text",
    { html: null, text: undefined },
    { field: "html", message: "html must be a string, not null" },
  ],
  ["html has 1,000,000 characters", { html: "x".repeat(1_000_000) }],
  [
    "html has 1,000,001 characters",
    { html: "x".repeat(1_000_001) },
    { field: "html", message: "at most 1,000,000 characters" },
  ],
  ["html has 1,000,000 emoji", { html: EMOJI.repeat(1_000_000) }],
  [
    "html has 1,000,001 emoji",
    { html: EMOJI.repeat(1_000_001) },
    { field: "html", message: "at most 1,000,000 characters" },
  ],
  ["text is null", { text: null }, { field: "text", message: "text must be a string, not null" }],
  ["text has 100,000 characters", { text: "x".repeat(100_000) }],
  [
    "text has 100,001 characters",
    { text: "x".repeat(100_001) },
    { field: "text", message: "at most 100,000 characters" },
  ],
  ["text has 100,000 emoji", { text: EMOJI.repeat(100_000) }],
  ["text has 100,001 emoji", { text: EMOJI.repeat(100_001) }, { field: "text", message: "at most 100,000 characters" }],
  ["neither html nor text is there", { text: undefined }, NO_CONTENT],
  ["text alone is empty", { text: "" }, NO_CONTENT],
  ["html alone is empty", { text: undefined, html: "" }, NO_CONTENT],
  ["html and text are both empty", { text: "", html: "" }, NO_CONTENT],
  ["html is empty beside a text", { html: "" }],
  ["text is empty beside html", { text: "", html: "<p>x" }],
  ["replyTo is null", { replyTo: null }, { field: "replyTo", message: "replyTo must be a string, not null" }],
  ["replyTo is empty", { replyTo: "" }, { field: "replyTo", message: "replyTo must not be empty" }],
  [
    "replyTo has a display name with a comma",
    { replyTo: "Silva, Ana <ana@example.com>" },
    { field: "replyTo", message: /^replyTo is not a usable/ },
  ],
  ["replyTo is an address", { replyTo: "ana@example.com" }],
  ["replyTo has a domain beyond ASCII", { replyTo: "ana@bücher.example" }],
  [
    "replyTo is not ASCII before the @",
    { replyTo: "josé@example.com" },
    { field: "replyTo", message: /^replyTo must be ASCII before the @/ },
  ],
  [
    "from is not ASCII before the @",
    { from: "José <josé@loja.test>" },
    { field: "from", message: /^from must be ASCII before the @/ },
  ],
  ["replyTo has 254 characters", { replyTo: LONGEST_TO }],
  [
    "replyTo has 256 characters",
    { replyTo: LONGEST_TO.replace(".com", ".commm") },
    { field: "replyTo", message: "at most 255 characters" },
  ],
  [
    "there is an unknown member",
    { carbonCopy: "x@example.com" },
    { field: "carbonCopy", message: "carbonCopy is not a member of this request" },
  ],
  [
    "there are members named like indexes",
    { 0: "x", "1": "y" },
    { field: "0", message: "0 is not a member" },
    { field: "1", message: "1 is not a member" },
  ],
  ["there is a member with no name", { "": 1 }, { field: "", message: '"" is not a member of this request' }],
  [
    "everything is wrong at once",
    { from: 1, to: "x", subject: "", html: [], text: {}, replyTo: "@", bcc: 1, reply_to: "x" },
    ...["from", "to", "subject", "html", "text", "replyTo", "bcc", "reply_to"].map((field) => ({ field })),
  ],
];

test("each rule of a field holds on both sides of its bound, and every fault is named in one answer", async () => {
  await using pombo = await startInstance();
  for (const [what, changes, ...faults] of FIELD_RULES) {
    const before = await totalOf(pombo.workspace);
    const body = Object.fromEntries(Object.entries(pombo.email(changes)).filter(([, value]) => value !== undefined));
    const answer = await pombo.workspace.call("POST", EMAILS, { body });
    const isAccepted = faults.length === 0;
    expect([what, answer.status, answer.text.slice(0, 300)]).toEqual([
      what,
      isAccepted ? 202 : 422,
      expect.any(String),
    ]);
    if (!isAccepted) expectErrors(answer, 422, faults);
    expect([what, (await totalOf(pombo.workspace)) - before]).toEqual([what, isAccepted ? 1 : 0]);
    if (!isAccepted) continue;
    const { data } = (await pombo.workspace.call("GET", `${EMAILS}/${answer.body.data.id}`)).body;
    expect([what, data.from, data.to, data.subject, data.replyTo]).toEqual([
      what,
      body["from"],
      body["to"],
      body["subject"],
      body["replyTo"] ?? null,
    ]);
  }
  expect(pombo.bugs).toEqual([]);
}, 30_000);

test("the hints of a refused send say what to do", async () => {
  await using pombo = await startInstance();
  const unknown = await send(pombo, { reply_to: "x@example.com" });
  expect(errorItems(unknown)[0]?.hint).toBe(
    "Known here: from, to, cc, bcc, subject, html, text, replyTo, headers, tag, metadata, unsubscribe, sendAt, attachments.",
  );
  const empty = await send(pombo, { text: "" });
  expect(errorItems(empty)[0]?.hint).toContain("empty string counts as absent");
  const several = await send(pombo, { to: "a@example.com, b@example.com" });
  expect(errorItems(several)[0]?.hint).toBe("Give several addresses as an array.");
  expect(errorItems(await send(pombo, { to: "m@" }))[0]?.hint).toBeUndefined();
  const cursor = errorItems(
    await pombo.workspace.call("GET", "/api/v1/webhooks/01a1fdfa-4600-74ed-8e00-92985e10239c/deliveries?cursor=x"),
  )[0];
  expect(cursor?.hint).toStartWith("This list has pages: page and limit. Known here: page, limit,");
  const page = errorItems(await pombo.workspace.call("GET", "/api/v1/sms?page=2"))[0];
  expect(page?.hint).toStartWith("This list is read with a cursor: meta.next_cursor of the page before. Known here:");
});

const LIST_MEMBERS = ["id", "from", "to", "subject", "providerId", "createdAt", "sentAt", "deliveredAt"];
const RECORD_MEMBERS = [
  ...LIST_MEMBERS,
  ...[
    "html",
    "text",
    "failedReason",
    "status",
    "replyTo",
    "attempts",
    "nextAttemptAt",
    "sendAt",
    "lastReply",
    "possibleDuplicate",
    "bounce",
    "kind",
    "toName",
    "replyToAll",
    "groupId",
    "recipients",
    "headers",
    "source",
    "tag",
    "metadata",
    "unsubscribe",
    "attachments",
    "sentBy",
  ],
];

test("a record has all its members from the start, null where the moment has not come", async () => {
  await using pombo = await startInstance();
  pombo.dns.faults["example.com"] = "slow";
  const { body: sent } = await send(pombo, { html: "<p>Olá", replyTo: "ana@example.com" });
  const { status, body } = await pombo.workspace.call("GET", `${EMAILS}/${sent.data.id}`);
  expect(status).toBe(200);
  expect(Object.keys(body)).toEqual(["data"]);
  expect(Object.keys(body.data).toSorted()).toEqual(RECORD_MEMBERS.toSorted());
  expect(body.data).toMatchObject({
    ...{ id: sent.data.id, from: `Loja <loja@${SENDING_DOMAIN}>`, to: "maria@example.com", subject: "Olá" },
    ...{ html: "<p>Olá", text: "Bom dia", replyTo: "ana@example.com", createdAt: expect.stringMatching(TIMESTAMP) },
    ...{ sentAt: null, deliveredAt: null, failedReason: null, bounce: null, possibleDuplicate: false },
  });
  expect(["queued", "sending"]).toContain(body.data.status);
  delete pombo.dns.faults["example.com"];
  pombo.dns.release();
});

test("a delivered record tells when it was sent and delivered, and its Message-ID", async () => {
  await using pombo = await startInstance();
  const { body: sent } = await send(pombo);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  const { data } = (await pombo.workspace.call("GET", `${EMAILS}/${sent.data.id}`)).body;
  expect(data.sentAt).toMatch(TIMESTAMP);
  expect(data.deliveredAt).toMatch(TIMESTAMP);
  expect(data.createdAt <= data.sentAt && data.sentAt <= data.deliveredAt).toBe(true);
  expect(pombo.mx.messages[0]?.content.toString()).toContain(`Message-ID: <${data.providerId}>`);
});

test("a text part is made from html alone, kept when given, and left out when it is the empty string", async () => {
  await using pombo = await startInstance();
  const cases: [changes: Record<string, unknown>, text: string | null][] = [
    [{ html: "<h2>Total</h2><p>100 MT</p>" }, "Total\n\n100 MT"],
    [{ html: "<p>a", text: "b" }, "b"],
    [{ html: "<p>a", text: "" }, null],
    [{ html: "", text: "b" }, "b"],
  ];
  for (const [changes, text] of cases) {
    const sent = await pombo.workspace.call("POST", EMAILS, { body: { ...omit(pombo.email(), "text"), ...changes } });
    const { data } = (await pombo.workspace.call("GET", `${EMAILS}/${sent.body.data.id}`)).body;
    expect([changes, data.text, data.html]).toEqual([
      changes,
      text,
      changes["html"] === "" ? null : (changes["html"] as string),
    ]);
  }
});

test("an id is found in upper case too, an unknown one is 404, a malformed one is 422 for the field id", async () => {
  await using pombo = await startInstance();
  const { body: sent } = await send(pombo);
  const found = await pombo.workspace.call("GET", `${EMAILS}/${sent.data.id.toUpperCase()}`);
  expect(found.body.data.id).toBe(sent.data.id);
  expectErrors(await pombo.workspace.call("GET", `${EMAILS}/${UNKNOWN_ID}`), 404, [{ code: "NOT_FOUND" }]);
  for (const id of ["1", "not-a-uuid", `${UNKNOWN_ID}0`, "%00", "%E0%A4%A", encodeURIComponent("' OR 1=1 --")]) {
    expectErrors(await pombo.workspace.call("GET", `${EMAILS}/${id}`), 422, [
      { field: "id", message: "id must be a UUID" },
    ]);
  }
});

test("a sender whose domain is unknown or pending is refused as not verified, with the way to verify it", async () => {
  await using pombo = await startInstance();
  const created = await pombo.workspace.call("POST", "/api/v1/domains", { body: { domain: "pending.test" } });
  const unknown = await send(pombo, { from: "a@unknown.test" });
  expectErrors(unknown, 422, [{ field: "from", message: /^Domain not verified$/ }]);
  expect(errorItems(unknown)[0]?.hint).toContain("Register unknown.test with POST /api/v1/domains");
  const pending = await send(pombo, { from: "a@pending.test" });
  expectErrors(pending, 422, [{ field: "from", message: /^Domain not verified$/ }]);
  expect(errorItems(pending)[0]?.hint).toContain(`/api/v1/domains/${created.body.data.id}/verification-checks`);
  expect(await totalOf(pombo.workspace)).toBe(0);
});

test("a recipient that bounced hard is refused from then on, however it is written, and others are not", async () => {
  await using pombo = await startInstance({ mx: { rcpt: "550 5.1.1 No such user" } });
  const { body: sent } = await send(pombo);
  await pombo.mx.until(() =>
    pombo.mx.connections.some(({ commands }) => commands.some((line) => line.startsWith("RCPT"))),
  );
  await pombo.app.worker.idle();
  const { data } = (await pombo.workspace.call("GET", `${EMAILS}/${sent.data.id}`)).body;
  expect(data).toMatchObject({
    status: "bounced",
    deliveredAt: null,
    failedReason: expect.stringContaining("550 5.1.1 No such user"),
  });
  expect(data.bounce).toEqual({
    ...{ type: "permanent", category: "invalid_recipient", smtpCode: 550, enhancedCode: "5.1.1" },
    mx: expect.any(String),
  });
  for (const to of ["maria@example.com", "MARIA@Example.COM"]) {
    const refused = await send(pombo, { to });
    expectErrors(refused, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to", message: "hard_bounce" }]);
    expect(errorItems(refused)[0]?.hint).toBeString();
  }
  expect((await send(pombo, { to: "joana@example.com" })).status).toBe(202);
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  const elsewhere = await other.call("POST", EMAILS, { body: pombo.email({ from: "a@other.test" }) });
  expect(elsewhere.status).toBe(202);
});

test("the checks come in order: fields, then the domain, then suppression", async () => {
  await using pombo = await startInstance({ mx: { rcpt: "550 5.1.1 No such user" } });
  await send(pombo);
  await pombo.mx.until(() => pombo.mx.connections.length > 0);
  await pombo.app.worker.idle();
  expectErrors(await send(pombo, { from: "a@unknown.test", subject: "" }), 422, [{ field: "subject" }]);
  expectErrors(await send(pombo, { from: "a@unknown.test" }), 422, [{ field: "from", message: "Domain not verified" }]);
  expectErrors(await send(pombo), 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to" }]);
});
