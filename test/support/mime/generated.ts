// Plain messages made by a rule from what mail software gets wrong.

import type { MessageSource } from "../../../src/protocols/mime/compose.ts";
import { mailbox } from "./mailbox.ts";

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

/** Numbers below a bound, the same for a seed. */
export function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export type Draw = ReturnType<typeof seeded>;
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

/** Message number `n` of a draw: a text, html or both, with a reply-to or not. */
export function generated(draw: Draw, n: number): MessageSource {
  const shape = draw(3);
  const id = `01890a5d-ac96-774b-bcce-${String(n).padStart(12, "0")}`;
  return {
    id,
    messageId: `${id}@exemplo.co.mz`,
    createdAt: 1_700_000_000_000 + n * 1_000,
    from: person(draw),
    to: [person(draw)],
    cc: [],
    replyTo: draw(3) === 0 ? [person(draw)] : [],
    subject: subjectText(draw),
    text: shape === 1 ? null : bodyText(draw),
    html: shape === 0 ? null : `<p>${bodyText(draw)}</p>`,
    headers: draw(2) === 0 ? [] : [["X-Pombo-Trace", "x".repeat(60)]],
    attachments: [],
  };
}
