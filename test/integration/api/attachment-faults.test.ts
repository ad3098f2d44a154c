// Attachments that are refused, each by its place; and odd ones that are not.

import { expect, setDefaultTimeout, test } from "bun:test";
import { errorItems, expectErrors, type ExpectedFault } from "../../support/api/kit.ts";
import { attach, countFiles, countRows } from "../../support/api/attachments.ts";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import { recordOf } from "../../support/api/one-email.ts";
import { readByMailparser } from "../../support/mime/readers.ts";

setDefaultTimeout(30_000);

const EMAILS = "/api/v1/emails";
const GOOD = { filename: "a.txt", content: "QQ==" };

/** What is wrong with the first attachment: the changes to one that is right, the member at fault, and how it is told. */
type Case = [what: string, changes: Record<string, unknown>, member: string, message: string | RegExp, hint?: RegExp];

const NOT_BASE64 = "must be base64 (RFC 4648 §4) with its padding";
const ONE_LINE = "must not hold control characters or line breaks";
const TURNED = "must not hold characters that change the direction of text";
const NO_TYPE = 'must be a type like "application/pdf" or "text/csv; charset=utf-8"';
const NO_ID = "must be letters, digits and .-_@, without < and >, like logo@example.com";

const CASES: Case[] = [
  ["no filename", { filename: undefined }, "filename", "is required"],
  ["an empty filename", { filename: "" }, "filename", "must not be empty"],
  ["a blank filename", { filename: "\u2003 " }, "filename", "must not be blank"],
  ["a filename of 256", { filename: "x".repeat(256) }, "filename", "must have at most 255 characters"],
  ["a number as filename", { filename: 7 }, "filename", "must be a string, not a number"],
  ["a path", { filename: "../../etc/passwd" }, "filename", "must not hold / or \\"],
  ["a path of Windows", { filename: "..\\boot.ini" }, "filename", "must not hold / or \\"],
  ["the folder itself", { filename: "." }, "filename", "must be the name of a file"],
  ["the folder above", { filename: ".." }, "filename", "must be the name of a file"],
  ["an encoded-word", { filename: "=?utf-8?Q?a=2Fb?=" }, "filename", "must not hold =? and ?="],
  ...["\r", "\n", "\0", "\t", "\u007f", "\u0085", "\u2028", "\u2029"].map((each): Case => [
    `${JSON.stringify(each)} in a filename`,
    { filename: `a${each}b.pdf` },
    "filename",
    ONE_LINE,
  ]),
  ...["\u202a", "\u202d", "\u202e", "\u2066", "\u2069"].map((each): Case => [
    `${JSON.stringify(each)} in a filename`,
    { filename: `${each}fdp.exe` },
    "filename",
    TURNED,
  ]),
  ["half a surrogate pair", { filename: "\ud83d.pdf" }, "filename", "must be valid Unicode"],

  ["no content", { content: undefined }, "content", "is required"],
  ["content is null", { content: null }, "content", "must be a string, not null"],
  ["content of bytes", { content: [65] }, "content", "must be a string, not an array"],
  ["no padding", { content: "QQ" }, "content", NOT_BASE64, /multiple of 4/],
  ["half a padding", { content: "QQ=" }, "content", NOT_BASE64, /multiple of 4/],
  ["too much padding", { content: "QUI==" }, "content", NOT_BASE64],
  ["padding only", { content: "====" }, "content", NOT_BASE64],
  ["padding within", { content: "QQ==QQ==" }, "content", NOT_BASE64],
  ["a line break", { content: "QUJD\r\nREVG" }, "content", NOT_BASE64, /line breaks and other white space/],
  ["a line break at the end", { content: "QUJD\n" }, "content", NOT_BASE64, /white space/],
  ["a space", { content: "QU JD" }, "content", NOT_BASE64, /white space/],
  ["letters of URLs", { content: "-_-_" }, "content", NOT_BASE64, /base64url/],
  ["a data: URL", { content: "data:application/pdf;base64,QUJD" }, "content", NOT_BASE64, /data: URL/],
  ["a foreign character", { content: "QUJ*" }, "content", NOT_BASE64],
  ["a letter beyond ASCII", { content: "QUJ\u0141" }, "content", NOT_BASE64],
  ["a NUL", { content: "QUJ\0" }, "content", NOT_BASE64],
  ["hexadecimal with a prefix", { content: "0x4142434" }, "content", NOT_BASE64],
  ["a foreign character far behind", { content: `${"QUJD".repeat(400_000)}QUJ*` }, "content", NOT_BASE64],

  ["no type", { contentType: "pdf" }, "contentType", NO_TYPE],
  ["an empty type", { contentType: "" }, "contentType", "must not be empty"],
  ["a type of nothing", { contentType: "application/" }, "contentType", NO_TYPE],
  ["a type with a line break", { contentType: "text/plain\r\nBcc: x@example.com" }, "contentType", NO_TYPE],
  ["a parameter without a value", { contentType: "text/plain; charset" }, "contentType", NO_TYPE],
  ["a type beyond ASCII", { contentType: "téxt/plain" }, "contentType", NO_TYPE],
  ["a type around a direction", { contentType: "text/plain; x=\u202e" }, "contentType", NO_TYPE],
  ["two types", { contentType: "text/plain, text/html" }, "contentType", NO_TYPE],
  ["a type of 256", { contentType: `a/${"b".repeat(254)}` }, "contentType", "must have at most 255 characters"],
  ...["\r", "\n", "\0", "\u2028"].flatMap((each): Case[] => [
    [`${JSON.stringify(each)} in a type`, { contentType: `text/plain; x="a${each}b"` }, "contentType", NO_TYPE],
    [`${JSON.stringify(each)} in an id`, { contentId: `a${each}b` }, "contentId", NO_ID],
  ]),
  ["a multipart", { contentType: "multipart/mixed; boundary=x" }, "contentType", "must not be multipart"],
  ["a multipart in another case", { contentType: "MultiPart/Related" }, "contentType", "must not be multipart"],
  ["a second name", { contentType: "application/pdf; name=b.exe" }, "contentType", "must not have the parameter name"],

  ["an id in brackets", { contentId: "<logo@example.com>" }, "contentId", NO_ID],
  ["an empty id", { contentId: "" }, "contentId", "must not be empty"],
  ["an id with a space", { contentId: "a b" }, "contentId", NO_ID],
  ["an id with a line break", { contentId: "a\r\nX: b" }, "contentId", NO_ID],
  ["an id beyond ASCII", { contentId: "é" }, "contentId", NO_ID],
  ["an id with two @", { contentId: "a@b@c" }, "contentId", NO_ID],
  ["an id of 251", { contentId: "x".repeat(251) }, "contentId", "must have at most 250 characters"],
  ["an id that is null", { contentId: null }, "contentId", "must be a string, not null"],

  ["a URL", { path: "https://example.com/a.pdf" }, "path", "is not a member of this request"],
];

const faultOf = (path: string, member: string, message: string | RegExp): ExpectedFault => ({
  field: member,
  path: `${path}.${member}`,
  message,
});

test("each fault is named by its place, in a send and in a batch, and nothing is stored", async () => {
  await using pombo = await startInstance();
  for (const [what, changes, member, message, hint] of CASES) {
    const email = pombo.email({ attachments: [GOOD, { ...GOOD, ...changes }] });
    const one = await pombo.workspace.call("POST", EMAILS, { body: email });
    expect([what, one.status, one.text]).toEqual([what, 422, expect.any(String)]);
    expectErrors(one, 422, [faultOf("attachments[1]", member, message)]);
    if (hint !== undefined) expect([what, errorItems(one)[0]?.hint]).toEqual([what, expect.stringMatching(hint)]);
    const batch = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails: [pombo.email(), email] } });
    expectErrors(batch, 422, [faultOf("emails[1].attachments[1]", member, message)]);
  }
  // What was right about them may have been staged; none of it belongs to anything.
  expect([countRows(pombo, "email"), countFiles(pombo)[3]]).toEqual([0, 0]);
  expect(pombo.bugs).toEqual([]);
});

test.each([
  ["an object", { a: GOOD }, "attachments must be an array, not an object"],
  ["null", null, "attachments must be an array, not null"],
  ["51 of them", Array.from({ length: 51 }, () => GOOD), "attachments must hold at most 50 items"],
])("attachments that are %s are refused", async (_, attachments, message) => {
  await using pombo = await startInstance();
  const answer = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ attachments }) });
  expectErrors(answer, 422, [{ field: "attachments", message }]);
});

test("an attachment that is none, and an id that two have, are named", async () => {
  await using pombo = await startInstance();
  const answer = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email({
      attachments: [
        { ...GOOD, contentId: "logo" },
        "a.pdf",
        { ...GOOD, contentId: "LOGO" },
        { ...GOOD, contentId: "logo" },
      ],
    }),
  });
  expectErrors(answer, 422, [
    { field: "attachments", path: "attachments[1]", message: "must be an object, not a string" },
    faultOf("attachments[3]", "contentId", "is that of another attachment too"),
  ]);
});

test("a batch whose seventh email is at fault names emails[6].attachments[2].content", async () => {
  await using pombo = await startInstance();
  const emails: Json[] = Array.from({ length: 8 }, () => pombo.email({ attachments: [GOOD, GOOD, GOOD] }));
  emails[6] = pombo.email({ attachments: [GOOD, GOOD, { ...GOOD, content: "Q" }] });
  const answer = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  expectErrors(answer, 422, [faultOf("emails[6].attachments[2]", "content", NOT_BASE64)]);
  // Every one at fault is named.
  emails[7] = pombo.email({ attachments: [{ ...GOOD, content: "Q Q=" }, GOOD, { ...GOOD, content: "data:,a" }] });
  expectErrors(await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } }), 422, [
    faultOf("emails[6].attachments[2]", "content", NOT_BASE64),
    faultOf("emails[7].attachments[0]", "content", NOT_BASE64),
    faultOf("emails[7].attachments[2]", "content", NOT_BASE64),
  ]);
  expect(countRows(pombo, "email")).toBe(0);
});

test("fifty attachments of no bytes, and names and types that are odd, are sent as they are", async () => {
  await using pombo = await startInstance();
  const names = [
    ".env",
    "...pdf",
    "مرحبا.pdf",
    "👩‍👩‍👧.png",
    "50% =? off.txt",
    "x".repeat(255),
    "ç".repeat(255),
    "a \"b\" 'c'; d=e",
  ];
  const empty = Array.from({ length: 50 - names.length }, (_, n) => `${n}.bin`);
  const attachments = attach(...[...names, ...empty].map((filename) => ({ filename, content: Buffer.alloc(0) })));
  attachments[0].contentType = "message/rfc822";
  attachments[1].contentType = 'text/plain ; charset="utf-8";format=flowed';
  attachments[2].contentId = `${"x".repeat(200)}@${"y".repeat(49)}`;
  const sent = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ html: "<p>a</p>", attachments }) });
  expect([sent.status, sent.text]).toEqual([202, expect.any(String)]);
  await pombo.app.worker.idle();
  const record = await recordOf(pombo, sent.body.data.id);
  expect(record.status).toBe("delivered");
  expect(record.attachments.map(({ filename, bytes }: Json) => [filename, bytes])).toEqual(
    [...names, ...empty].map((filename) => [filename, 0]),
  );
  expect(record.attachments[0].contentType).toBe("application/octet-stream");
  const [message] = pombo.mx.messages;
  const mail = await readByMailparser(message?.content ?? Buffer.alloc(0));
  // The inline one stands before the others.
  const [, , inline = ""] = names;
  const others = [...names, ...empty].filter((name) => name !== inline);
  expect(mail.attachments.map(({ filename }) => filename)).toEqual([inline, ...others]);
  expect(countFiles(pombo)).toEqual([1, 1, 0, 50]);
  expect(pombo.bugs).toEqual([]);
});

test("a large member content is refused wherever else it stands", async () => {
  await using pombo = await startInstance();
  // So large that the body's parser leaves it as it came.
  const content = "QUJD".repeat(200_000);
  const members = ["from", "to", "cc", "bcc", "replyTo", "subject", "html", "text", "headers", "metadata", "tag"];
  for (const member of [...members, "sendAt", "unsubscribe", "attachments", "other"]) {
    const answer = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ [member]: { content } }) });
    expect([member, answer.status]).toEqual([member, 422]);
    // It is not repeated.
    expect([member, answer.text.length < 2_000]).toEqual([member, true]);
  }
  const within = pombo.email({
    attachments: [
      { ...GOOD, content: { content } },
      { ...GOOD, filename: { content } },
    ],
  });
  expectErrors(await pombo.workspace.call("POST", EMAILS, { body: within }), 422, [
    faultOf("attachments[0]", "content", "must be a string, not an object"),
    faultOf("attachments[1]", "filename", "must be a string, not an object"),
  ]);
  expectErrors(await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ metadata: { content } }) }), 422, [
    { field: "content", message: "must have at most 500 characters" },
  ]);
  expectErrors(await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ headers: { content } }) }), 422, [
    { field: "content", message: "must have 1 to 998 characters" },
  ]);
  for (const large of [
    `data:application/pdf;base64,${content}`,
    `${content}QU\nD`,
    `${content}-_-_`,
    `${content}Łaa`,
    `${content}A`,
  ])
    expectErrors(
      await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ attachments: [{ ...GOOD, content: large }] }) }),
      422,
      [faultOf("attachments[0]", "content", NOT_BASE64)],
    );
  expect(pombo.bugs).toEqual([]);
});
