import { expect, test } from "bun:test";
import { simpleParser } from "mailparser";
import { composeMessage, type MessageSource } from "../../../src/protocols/mime/compose.ts";
import { mailbox } from "../../support/mime/mailbox.ts";

// Ten tests of a thousand: each stays far below its limit on a busy machine, and a failure names its seed.
const ROUNDS = 10;
const MESSAGES_PER_ROUND = 1_000;
const TIMEOUT_MS = 30_000;

const WORDS = [
  "Olá",
  "encomenda",
  "está a caminho",
  "ação",
  "ñ",
  "😀",
  "👩‍🍳",
  "🇲🇿",
  "مرحبا",
  "بكم",
  "你好",
  "世界",
  "שלום",
  "Ω",
  "e\u0301",
  "a",
  "I",
  "the order",
  "42",
  "=3D",
  "=",
  "_",
  "?=",
  "=?utf-8?Q?x?=",
  "=?utf-8?B?eA==?=",
  "&amp;",
  "<b>",
  "\u00a0",
  "\u3000",
  "€",
  "ﬃ",
  "%41",
  "\\",
  "'",
  "--",
  "--=_",
  "=_",
];
const BREAKS = [
  "\n",
  "\r\n",
  "\r",
  "\n\n",
  "\r\r\n",
  "\n\r",
  "\r\n.\r\n",
  "\n.\n",
  "\r.\r",
  "\n..\n",
  "\nFrom me\n",
  " \n",
  "\t\r\n",
  "  \r",
  "\n--",
];
const NAME_PARTS = [
  ...WORDS.filter((word) => word !== "\\"),
  ",",
  ";",
  ":",
  "@",
  "<",
  ">",
  "(",
  ")",
  "[",
  "]",
  '"',
  "\\",
  ".",
  "a@evil.com",
  "<x@evil.com>",
  ", Bcc: x@evil.com",
];

function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Draw = ReturnType<typeof seeded>;
const pick = (draw: Draw, from: string[]) => from[draw(from.length)] ?? "";

function words(draw: Draw, most: number, from: string[] = WORDS): string {
  return Array.from(
    { length: 1 + draw(most) },
    () => pick(draw, from) + " ".repeat([1, 1, 1, 0, 2, 3][draw(6)] ?? 1),
  ).join("");
}

function bodyText(draw: Draw): string {
  const isAscii = draw(4) === 0;
  const ascii = WORDS.filter((word) => /^[ -~]*$/.test(word));
  const pieces = Array.from({ length: 1 + draw(12) }, () => {
    if (draw(20) === 0) return "x".repeat(draw(2_500));
    if (draw(40) === 0) return "é".repeat(draw(900));
    return words(draw, 20, isAscii ? ascii : WORDS) + (draw(2) === 0 ? pick(draw, BREAKS) : "\r\n");
  });
  return pieces.join("");
}

function subjectText(draw: Draw): string {
  const text =
    draw(3) === 0
      ? words(draw, 6, ["Your", "order", "42", "has", "shipped", "a".repeat(draw(90) + 1)])
      : words(draw, 90);
  const points = Array.from(draw(2) === 0 ? text : text.trim());
  return points.slice(0, draw(8) === 0 ? 255 : 1 + draw(255)).join("") || "\u00bf";
}

function person(draw: Draw) {
  const address = `${pick(draw, ["a", "ana.maria", "x+y", '"a b"', "o'neil", "no-reply"])}@${pick(draw, ["b.co", "exemplo.co.mz", "bücher.de"])}`;
  if (draw(4) === 0) return mailbox(address);
  return mailbox(`"${words(draw, 12, NAME_PARTS).replace(/["\\]/g, "\\$&")}" <${address}>`);
}

function generated(draw: Draw, n: number): MessageSource {
  const shape = draw(3);
  const id = `01890a5d-ac96-774b-bcce-${String(n).padStart(12, "0")}`;
  return {
    id,
    messageId: `${id}@exemplo.co.mz`,
    createdAt: 1_700_000_000_000 + n * 1_000,
    from: person(draw),
    to: person(draw),
    replyTo: draw(3) === 0 ? person(draw) : null,
    subject: subjectText(draw),
    text: shape === 1 ? null : bodyText(draw),
    html: shape === 0 ? null : `<p>${bodyText(draw)}</p>`,
    headers: draw(2) === 0 ? [] : [["X-Pombo-Trace", "x".repeat(60)]],
  };
}

/** What arrived differs from what was sent in line ends only; a single part gets the end of its last line. */
function expectBody(arrived: string | false | undefined, sent: string | null, isSingle: boolean): void {
  if (sent === null) return;
  const wanted = sent.replace(/\r\n?|\n/g, "\n");
  if (isSingle && !wanted.endsWith("\n") && arrived === `${wanted}\n`) return;
  if (arrived !== wanted) expect(arrived).toBe(wanted);
}

function expectWellFormed(octets: Uint8Array): void {
  const message = Buffer.from(octets).toString("latin1");
  if (/\r(?!\n)|(?<!\r)\n/.test(message)) throw new Error("a bare CR or LF");
  if (/[\0\x80-\xff]/.test(message)) throw new Error("an octet that is not 7-bit text");
  const headerLines = message.slice(0, message.indexOf("\r\n\r\n")).split("\r\n");
  expect(Math.max(...headerLines.map((line) => line.length))).toBeLessThanOrEqual(78);
  expect(headerLines.some((line) => line.trim() === "")).toBe(false);
  expect(Math.max(...message.split("\r\n").map((line) => line.length))).toBeLessThanOrEqual(998);
}

async function expectRoundTrip(source: MessageSource): Promise<void> {
  const octets = composeMessage(source);
  expectWellFormed(octets);
  const parsed = await simpleParser(Buffer.from(octets), {
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  });
  expect(parsed.subject).toBe(source.subject);
  expect(parsed.messageId).toBe(`<${source.messageId}>`);
  expect(parsed.date?.getTime()).toBe(source.createdAt);
  const to = Array.isArray(parsed.to) ? parsed.to[0] : parsed.to;
  for (const [sent, arrived] of [
    [source.from, parsed.from],
    [source.to, to],
    [source.replyTo, parsed.replyTo],
  ] as const) {
    if (sent === null) expect(arrived).toBeUndefined();
    else {
      expect(arrived?.value.length).toBe(1);
      expect(arrived?.value[0]?.name).toBe(sent.displayName ?? "");
      expect(arrived?.value[0]?.address).toBe(readableAddress(sent.address));
    }
  }
  const isSingle = source.text === null || source.html === null;
  expectBody(parsed.text, source.text, isSingle);
  expectBody(parsed.html, source.html, isSingle);
}

/** The parser shows addresses with U-labels. */
function readableAddress(address: string): string {
  return address.replace("xn--bcher-kva", "bücher");
}

for (let round = 0; round < ROUNDS; round++) {
  test(
    `a thousand generated messages come back from a parser as they were written (seed ${round})`,
    async () => {
      const draw = seeded(round * 7_919 + 1);
      for (let n = 0; n < MESSAGES_PER_ROUND; n++) {
        const source = generated(draw, n);
        try {
          await expectRoundTrip(source);
        } catch (error) {
          throw new Error(`seed ${round}, message ${n}: ${JSON.stringify(source)}`, {
            cause: error,
          });
        }
      }
    },
    TIMEOUT_MS,
  );
}
