import { expect, test } from "bun:test";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, type ExpectedFault } from "../../support/api/kit.ts";
import { recordOf } from "../../support/api/one-email.ts";
import { startTold } from "../../support/api/erased.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";

const EMAILS = "/api/v1/emails";

const EXTRAS = {
  replyTo: ["Ajuda <ajuda@loja.test>", "chefe@loja.test"],
  headers: { "X-Order": "4711", "X-Nome": "José 😀", References: "<a.1@example.com> <b@example.com>" },
  tag: "receipt:2026",
  metadata: { order: "4711", "customer.name": "Zé", empty: "" },
};

const addresses = (count: number, name = "r") =>
  Array.from({ length: count }, (_, index) => `${name}${index}@example.com`);

test("tag, metadata, headers and Reply-To are stored, shown, told, and sent where they belong", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  const { pombo } = held;
  const { status, body } = await pombo.workspace.call("POST", EMAILS, { body: pombo.email(EXTRAS) });
  expect([status, Object.keys(body.data)]).toEqual([202, ["id", "status"]]);
  await pombo.app.worker.idle();
  const record = await recordOf(pombo, body.data.id);
  const { replyTo, headers, ...told } = EXTRAS;
  expect(record).toMatchObject({
    ...{ ...told, headers, status: "delivered", replyTo: "ajuda@loja.test", replyToAll: replyTo },
    ...{ groupId: null, recipients: null, toName: null },
  });
  const [message] = pombo.mx.messages;
  const head = (message?.content.toString() ?? "").split("\r\n\r\n")[0]?.replaceAll(/\r\n(?=[ \t])/g, "") ?? "";
  expect(head).toContain("\r\nReply-To: Ajuda <ajuda@loja.test>, chefe@loja.test\r\n");
  expect(head).toContain("\r\nX-Order: 4711\r\n");
  expect(head).toContain("\r\nReferences: <a.1@example.com> <b@example.com>\r\n");
  expect(head).toMatch(/\r\nX-Nome: =\?utf-8\?[QB]\?/);
  // Never in the mail.
  for (const word of ["receipt:2026", "customer.name"]) expect(message?.content.toString()).not.toContain(word);
  await receiver.until(() => receiver.calls.some(({ event }) => event.type === "email.delivered"));
  await pombo.app.webhooks.worker.idle();
  const types = ["email.queued", "email.delivered"];
  for (const type of types) {
    const data = receiver.calls.find(({ event }) => event.type === type)?.event.data;
    expect(data).toMatchObject({ ...told, replyTo: "ajuda@loja.test", replyToAll: replyTo });
    expect(Object.keys(data ?? {})).not.toContain("headers");
  }
  await pombo.restart();
  expect(await recordOf(pombo, body.data.id)).toEqual(record);
  expect(pombo.bugs).toEqual([]);
});

const MUST = "must hold message-ids in angle brackets";
const field = (name: string, message?: string | RegExp): ExpectedFault => ({
  field: name,
  ...(message === undefined ? {} : { message }),
});
const place = (path: string, message?: string | RegExp): ExpectedFault => ({
  ...field(/^\w+/.exec(path)?.[0] ?? "", message),
  path,
});

/** What is sent beside a send that works, members or JSON; then its faults. */
type Case = [what: string, changes: Record<string, unknown> | string, ...faults: ExpectedFault[]];

const BAD: Case[] = [
  ["no recipient", { to: [] }, field("to", "to must hold at least 1 item")],
  ["51 recipients in to", { to: addresses(51) }, field("to", "to must hold at most 50 items")],
  [
    "51 recipients together",
    { to: addresses(49), cc: "a@example.com", bcc: ["b@example.com"] },
    field("to", "to has 51 recipients together with cc and bcc: at most 50 are allowed"),
  ],
  [
    "the same address twice, in another case",
    { to: ["Maria@example.com", "Ana <MARIA@EXAMPLE.com>"] },
    place("to[1]", "to[1] is the same address as to[0]"),
  ],
  [
    "the same address in cc and bcc",
    { cc: "maria@example.com", bcc: ["x@example.com", "maria@EXAMPLE.com"] },
    field("cc", "cc is the same address as to"),
    place("bcc[1]", "bcc[1] is the same address as to"),
  ],
  ["a group", { to: "Team: a@example.com, b@example.com;" }, field("to", "exactly one address")],
  ["an empty group", { cc: ["undisclosed-recipients:;"] }, place("cc[0]", "exactly one address")],
  ["a group in brackets", { bcc: ["Team: <a@example.com>;"] }, place("bcc[0]", "is not a usable address")],
  ["a group in replyTo", { replyTo: "Team: a@example.com;" }, field("replyTo", "exactly one address")],
  ["a list in a list", { to: [["a@example.com"]] }, place("to[0]", "to[0] must be a string, not an array")],
  ["a number in a list", { to: ["a@example.com", 5] }, place("to[1]", "to[1] must be a string, not a number")],
  ["cc is null", { cc: null }, field("cc", "cc must be a string, not null")],
  ["11 in replyTo", { replyTo: addresses(11) }, field("replyTo", "replyTo must hold at most 10 items")],
  ...["\r", "\n", "\0", "\u2028", "\u2029", "\u202e", "\u0085"].flatMap((character) => {
    const code = JSON.stringify(character);
    const named = `Ma${character}ria <maria@example.com>`;
    return [
      [`${code} in a name`, { to: [named] }, place("to[0]", "invisible character")],
      [`${code} in a name of a copy`, { cc: "x@example.com", bcc: named }, field("bcc", "invisible character")],
      [`${code} in a name of Reply-To`, { replyTo: named }, field("replyTo", "invisible character")],
      [`${code} in a header`, { headers: { "X-A": `a${character}b` } }, field("X-A", /must not hold/)],
      [`${code} in a header's name`, { headers: { [`X${character}A`]: "a" } }, { field: `X${character}A` }],
      [`${code} in the tag`, { tag: `a${character}` }, field("tag", "tag must be 1 to 64")],
    ] as Case[];
  }),
  ["headers is an array", { headers: [] }, field("headers", "headers must be an object, not an array")],
  ["a header is a number", { headers: { "X-A": 1 } }, field("X-A", "X-A must be a string")],
  ["a header is empty", { headers: { "X-A": "" } }, field("X-A", "must have 1 to 998 characters")],
  ["a header is blank", { headers: { "X-A": "  " } }, field("X-A", "must not be blank")],
  ["a header is too long", { headers: { "X-A": "x".repeat(999) } }, field("X-A", "must have 1 to 998 characters")],
  ["a header is named by a digit", { headers: { "1A": "x" } }, field("1A", "not the name of a header field")],
  ["a header has a colon", { headers: { "X-A:": "x" } }, field("X-A:", "not the name of a header field")],
  ["a header has no name", { headers: { "": "x" } }, field("", "not the name of a header field")],
  ["a header's name has 77 characters", { headers: { ["x".repeat(77)]: "x" } }, field("x".repeat(77))],
  [
    "26 headers",
    { headers: Object.fromEntries(addresses(26, "X-").map((one) => [one.replaceAll(/@.*/g, ""), "x"])) },
    field("headers", "headers must hold at most 25 members"),
  ],
  [
    "headers of 17 KiB",
    { headers: Object.fromEntries(Array.from({ length: 18 }, (_, n) => [`X-${n}`, "x".repeat(960)])) },
    field("headers", "headers must hold at most 16 KiB; it has 17,342 bytes"),
  ],
  ["the same header in another case", { headers: { "X-A": "1", "x-a": "2" } }, field("x-a", "given twice: X-A")],
  ["In-Reply-To without brackets", { headers: { "In-Reply-To": "a@example.com" } }, field("In-Reply-To", MUST)],
  [
    "References with a comma",
    { headers: { references: "<a@example.com>,<b@example.com>" } },
    field("references", MUST),
  ],
  ...["From", "TO", "cc", "Bcc", "bCC", "Sender", "Reply-To", "Subject", "Date", "message-id", "MIME-Version"].map(
    (name) => [`the field ${name}`, { headers: { [name]: "x@example.com" } }, field(name)] as Case,
  ),
  ...["Content-Type", "Content-Disposition", "Return-Path", "Received", "DKIM-Signature", "Resent-To"].map(
    (name) => [`the field ${name}`, { headers: { [name]: "x" } }, field(name)] as Case,
  ),
  ...["Feedback-ID", "feedback-id", "X-Pombo-Trace", "x-pombo-x", "ARC-Seal", "Authentication-Results"].map(
    (name) => [`the field ${name}`, { headers: { [name]: "x" } }, field(name)] as Case,
  ),
  ...["List-Unsubscribe", "LIST-UNSUBSCRIBE", "list-unsubscribe-post", "List-Unsubscribe-X"].map((name): Case => [
    `the field ${name} beside unsubscribe`,
    { headers: { [name]: "<https://example.com/>" }, unsubscribe: { url: "https://example.com/" } },
    field(name, "is written by the service from unsubscribe"),
  ]),
  ["a tag with a space", { tag: "a b" }, field("tag", "tag must be 1 to 64 letters")],
  ["an empty tag", { tag: "" }, field("tag", "tag must be 1 to 64 letters")],
  ["a tag of 65", { tag: "x".repeat(65) }, field("tag", "tag must have at most 64 characters")],
  ["a tag beyond ASCII", { tag: "recibó" }, field("tag")],
  ["metadata is a string", { metadata: "x" }, field("metadata", "metadata must be an object, not a string")],
  ["metadata has a number", { metadata: { a: 1 } }, field("a", "a must be a string")],
  ["metadata in metadata", { metadata: { a: { b: "c" } } }, field("a", "a must be a string")],
  ["metadata has a name with a space", { metadata: { "a b": "c" } }, field("a b", "must be named with")],
  [
    "21 entries",
    { metadata: Object.fromEntries(addresses(21, "m").map((one) => [one.slice(0, 3).replace("@", "_"), "x"])) },
    field("metadata", "metadata must hold at most 20 members"),
  ],
  ["an entry of 501", { metadata: { a: "x".repeat(501) } }, field("a", "a must have at most 500 characters")],
  [
    "metadata of 5 KiB",
    { metadata: Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`m${n}`, "x".repeat(500)])) },
    field("metadata", "metadata must hold at most 4 KiB; it has 5,020 bytes"),
  ],
  ["__proto__ in metadata", '"metadata": {"__proto__": "x"}', field("__proto__", "must have another name")],
  ["__proto__ with members", '"metadata": {"__proto__": {"a": "x"}}', field("__proto__")],
  ["__proto__ in headers", '"headers": {"__proto__": "x"}', field("__proto__", "not the name of a header field")],
  ["__proto__ beside them", '"__proto__": {"tag": "x"}', field("__proto__", "is not a member of this request")],
  ["half a surrogate pair in a header", '"headers": {"X-A": "\\ud800"}', field("X-A", "valid Unicode")],
  ["half a surrogate pair in metadata", '"metadata": {"a": "\\ud800"}', field("a", "valid Unicode")],
  ["half a surrogate pair in a name", '"to": ["\\ud800 <a@example.com>"]', place("to[0]", "valid Unicode")],
];

function toJson(pombo: Instance, changes: Record<string, unknown> | string): string {
  if (typeof changes !== "string") return JSON.stringify(pombo.email(changes));
  const plain = JSON.stringify(pombo.email(changes.startsWith('"to"') ? { to: undefined } : {}));
  return plain.replace(/\}$/, `,${changes}}`);
}

test("each fault is named by its place, in a send and in a batch, and nothing is accepted", async () => {
  await using pombo = await startInstance();
  for (const [what, changes, ...faults] of BAD) {
    const email = toJson(pombo, changes);
    const one = await pombo.workspace.call("POST", EMAILS, { rawBody: email });
    expect([what, one.status, one.text]).toEqual([what, 422, expect.any(String)]);
    expectErrors(one, 422, faults);
    const batch = await pombo.workspace.call("POST", `${EMAILS}/batch`, {
      rawBody: `{"emails":[${JSON.stringify(pombo.email())},${email}]}`,
    });
    const paths = errorItems(batch).map(({ path }) => path);
    expect([what, batch.status, paths.every((path) => path?.startsWith("emails[1]."))]).toEqual([what, 422, true]);
  }
  expect(pombo.app.db.sqlite.query("SELECT COUNT(*) AS count FROM email").get()).toEqual({ count: 0 });
  expect(pombo.bugs).toEqual([]);
}, 30_000);

test("a fault deep in a batch is named with the whole way to it", async () => {
  await using pombo = await startInstance();
  const emails: Json[] = Array.from({ length: 8 }, () => pombo.email());
  emails[6] = pombo.email({ cc: ["a@example.com", "b"], headers: { "X-A": "1", Subject: "x" }, metadata: { a: 1 } });
  const answer = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  expectErrors(answer, 422, [
    { field: "cc", path: "emails[6].cc[1]", message: "emails[6].cc[1] is not a usable address" },
    { field: "Subject", path: "emails[6].headers.Subject", message: "is written by the service" },
    { field: "a", path: "emails[6].metadata.a" },
  ]);
});

test("the largest that is allowed is accepted, sent and shown", async () => {
  await using pombo = await startInstance();
  const body = pombo.email({
    replyTo: addresses(10),
    headers: Object.fromEntries(
      Array.from({ length: 16 }, (_, n) => [`X-${n}`, n % 2 === 0 ? "é".repeat(500) : "x".repeat(998)]),
    ),
    tag: "x".repeat(64),
    metadata: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`m${n}`, "😀".repeat(n < 8 ? 120 : 1)])),
  });
  const sent = await pombo.workspace.call("POST", EMAILS, { body });
  expect([sent.status, sent.text]).toEqual([202, expect.any(String)]);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  const { headers, metadata, tag } = await recordOf(pombo, sent.body.data.id);
  expect({ headers, metadata, tag }).toEqual({
    headers: body["headers"],
    metadata: body["metadata"],
    tag: body["tag"],
  });
  const lines = (pombo.mx.messages[0]?.content.toString() ?? "").split("\r\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(998);
});

test("empty headers and metadata are none", async () => {
  await using pombo = await startInstance();
  const sent = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ headers: {}, metadata: {} }) });
  expect(await recordOf(pombo, sent.body.data.id)).toMatchObject({ headers: null, metadata: null });
  expect(pombo.app.db.sqlite.query("SELECT * FROM email_extra").all()).toEqual([]);
});
