import { describe, expect, test } from "bun:test";
import { packBody } from "../../../../../src/modules/emails/content/body.ts";
import {
  countContentBytes,
  joinMime,
  packMimeBody,
  replaceHeader,
  toStoredBody,
  unpackMime,
  unpackMimeHeader,
} from "../../../../../src/modules/emails/content/mime-body.ts";

const REST = { attachedBytes: 0, hasDate: true, hasMessageId: true, needsSmtpUtf8: false, hasEightBit: false };
const HEADER = "From: a@b.test\r\nTo: joão@example.com\r\n";

const store = (header: string, body: Uint8Array, holes: number[] = []) =>
  toStoredBody(header, packMimeBody(body), { holes, ...REST });

const join = (stored: ReturnType<typeof store>, added = "", attachments: Uint8Array[] = []) => {
  const mime = unpackMime(stored);
  if (mime === null) throw new Error("no MIME");
  return Buffer.concat(joinMime(mime, added, attachments));
};

describe("what is stored comes out as it was", () => {
  test.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array()],
    ["just short of compression", Buffer.alloc(511, "x")],
    ["just compressed", Buffer.alloc(512, "x")],
    ["octets of every value", Uint8Array.from({ length: 4_096 }, (_, n) => n % 256)],
    ["a large one", Buffer.alloc(3_000_000, "line\r\n")],
  ])("%s", (_, body) => {
    const stored = store(HEADER, body);
    expect([stored.encoding, stored.htmlBytes, stored.textBytes]).toEqual([
      body.length < 512 ? "plain" : "zstd",
      null,
      null,
    ]);
    expect(join(stored).equals(Buffer.concat([Buffer.from(`${HEADER}\r\n`), body]))).toBe(true);
    expect(countContentBytes(stored, 9)).toBe(Buffer.byteLength(HEADER) + body.length);
    expect(unpackMimeHeader(stored)).toBe(HEADER);
  });

  test("in the middle of other memory too", () => {
    const stored = store(HEADER, Buffer.from("body"));
    const around = Buffer.concat([Buffer.from("before"), stored.content, Buffer.from("after")]);
    const content = around.subarray(6, 6 + stored.content.length);
    expect(join({ ...stored, content }).toString()).toBe(`${HEADER}\r\nbody`);
  });
});

test("an email by the API has none of it", () => {
  const stored = { ...packBody({ html: "<p>a</p>", text: "ab" }), mime: null };
  expect([unpackMime(stored), unpackMimeHeader(stored), countContentBytes(stored, 5)]).toEqual([null, null, 15]);
  expect(() => replaceHeader(stored, HEADER)).toThrow("no stored header");
});

test("the attachments go into their places, and fields before the header", () => {
  const stored = store(HEADER, Buffer.from("abcdef"), [0, 3, 3, 6]);
  const files = ["1", "22", "", "4444"].map((each) => Buffer.from(each));
  expect(join(stored, "Added: 1\r\n", files).toString()).toBe(`Added: 1\r\n${HEADER}\r\n1abc22def4444`);
  expect(() => join(stored, "", files.slice(1))).toThrow("a message has 3 of its 4 attachments");
});

test("the header is replaced without the body, by a shorter or a longer one", () => {
  const body = Buffer.alloc(10_000, "body\r\n");
  const stored = store(HEADER, body, [6]);
  for (const header of ["", "From: a@b.test\r\n", `${HEADER}X-Ã: ${"y".repeat(500)}\r\n`]) {
    const replaced = { ...stored, ...replaceHeader(stored, header) };
    expect(unpackMimeHeader(replaced)).toBe(header);
    expect(unpackMime(replaced)?.layout).toMatchObject({ holes: [6], bodyBytes: body.length, ...REST });
    expect(join(replaced, "", [new Uint8Array()]).toString("latin1")).toEndWith(
      `\r\n\r\n${body.toString()}`.slice(header === "" ? 2 : 0),
    );
  }
});

test("a body that is not whole is not sent", () => {
  const stored = store(HEADER, Buffer.from("body"));
  expect(() => unpackMime({ ...stored, content: stored.content.subarray(0, -1) })).toThrow(
    "a body has 3 of its 4 bytes",
  );
});
