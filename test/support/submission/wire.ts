// Messages and envelopes as a program that hands in mail says them.

import { expect } from "bun:test";
import type { Talk } from "../inbound/kit.ts";

/** The token of AUTH PLAIN. */
export function passwordOf(key: string, user = "pombo"): string {
  return Buffer.from(`\0${user}\0${key}`).toString("base64");
}

export const toBase64 = (text: string): string => Buffer.from(text).toString("base64");

/** Fields of a message that is taken; null leaves one out. */
export type Fields = Record<string, string | null>;

const USUAL: Fields = {
  From: "Loja <loja@loja.test>",
  To: "maria@example.com",
  Subject: "Recibo",
  Date: "Sat, 21 Nov 2026 11:59:00 +0000",
  "Message-ID": "<one@loja.test>",
};

/** One character an octet. */
export function message(fields: Fields = {}, body = "Bom dia\r\n"): string {
  const header = Object.entries({ ...USUAL, ...fields })
    .map(([name, value]) => (value === null ? "" : `${name}: ${value}\r\n`))
    .join("");
  return `${header}\r\n${body}`;
}

/** Dots at the beginning of a line are doubled (RFC 5321 §4.5.2). */
function stuff(octets: string): string {
  return octets.replaceAll(/(^|\r\n)\./g, "$1..");
}

/** MAIL, RCPT for each, all of which must be taken, and DATA up to its 354. */
export async function beginData(talk: Talk, recipients: string[] = ["maria@example.com"], mail = ""): Promise<void> {
  expect(await talk.say(`MAIL FROM:<app@client.test>${mail}`)).toStartWith("250 ");
  for (const recipient of recipients)
    expect([recipient, await talk.say(`RCPT TO:<${recipient}>`)]).toEqual([recipient, expect.stringMatching(/^250 /)]);
  expect(await talk.say("DATA")).toStartWith("354 ");
}

/** Hands in a message, one character an octet; the reply to its final dot. */
export async function handIn(talk: Talk, octets: string, ...recipients: string[]): Promise<string> {
  await beginData(talk, recipients.length === 0 ? undefined : recipients);
  talk.write(Buffer.from(`${stuff(octets)}.\r\n`, "latin1"));
  return talk.reply();
}

/** The same, of which a 250 is expected; the id in it. */
export async function accepted(talk: Talk, octets: string, ...recipients: string[]): Promise<string> {
  const reply = await handIn(talk, octets, ...recipients);
  const id = /^250 2\.0\.0 Accepted: ([0-9a-f-]{36})(?: \(\d+ recipients\))?\r\n$/.exec(reply)?.[1];
  if (id === undefined) throw new Error(`not accepted: ${reply}`);
  return id;
}

/** Writes pieces, each in a packet of its own. */
export async function writePieces(talk: Talk, pieces: string[]): Promise<void> {
  talk.socket.setNoDelay(true);
  for (const piece of pieces) {
    talk.write(Buffer.from(piece, "latin1"));
    for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
