import { expect, test } from "bun:test";
import { simpleParser } from "mailparser";
import { composeMessage, type MessageSource } from "../../../src/protocols/mime/compose.ts";
import { generated, seeded } from "../../support/mime/generated.ts";

// Ten tests of a thousand: each stays far below its limit on a busy machine, and a failure names its seed.
const ROUNDS = 10;
const MESSAGES_PER_ROUND = 1_000;
const TIMEOUT_MS = 30_000;

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
    [source.to[0], to],
    [source.replyTo[0], parsed.replyTo],
  ] as const) {
    if (sent === undefined) expect(arrived).toBeUndefined();
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
