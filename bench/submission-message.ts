// The messages of `script/bench submission`: those of the other benchmarks, composed, with places for the number that makes
// each another one: in its Message-ID, its To, its body and its file.

import { composeForPeer, makeContent } from "./message.ts";

const DIGITS = 9;
const ZEROS = "0".repeat(DIGITS);
const MARK = "Pedido ";
const COMPOSED_ID = "01900000-0000-7000-8000-000000000000@";
/** All that differs from message to message stands before this. */
const HEAD_BYTES = 16 * 1024;

export interface Template {
  /** As it goes over the wire: its dots doubled, and the final dot. */
  wire: Buffer;
  /** What SIZE says (RFC 1870 §3): without these. */
  bytes: number;
  /** Where its number stands. */
  places: number[];
}

/** Content number `variant`, 5 KB of html and text; with a file of so many bytes in base64, when that is given. */
export function makeTemplate(variant: number, fileBytes?: number): Template {
  const { subject, html, text } = makeContent(variant, "html+text");
  const marked = {
    subject,
    html: html.replace("<h1>", `<h1>\n${MARK}${ZEROS}\n`),
    text: `${MARK}${ZEROS}\n${text ?? ""}`,
  };
  const composed = composeForPeer(marked, fileBytes).replace(COMPOSED_ID, `${ZEROS}.${variant}@`);
  const lines = Buffer.from(composed.replaceAll("\n", "\r\n"), "latin1");
  const wire = Buffer.from(`${lines.toString("latin1").replaceAll("\r\n.", "\r\n..")}.\r\n`, "latin1");
  const places = [findAfter(wire, "Message-ID: <"), findAfter(wire, "To: <r", "To: r")];
  const inText = findAfter(wire, MARK);
  places.push(inText, inText + findAfter(wire.subarray(inText), MARK));
  for (const at of places)
    if (wire.toString("latin1", at, at + DIGITS) !== ZEROS) throw new Error(`no number at octet ${at} of the message`);
  if (fileBytes !== undefined) {
    const disposition = findAfter(wire, "Content-Disposition: attachment");
    places.push(disposition + findAfter(wire.subarray(disposition), "\r\n\r\n"));
  }
  if (Math.max(...places) + DIGITS > HEAD_BYTES) throw new Error("a number stands too far behind in the message");
  return { wire, bytes: lines.length, places };
}

/** Message number `number`, in pieces; only the first is its own. */
export function numbered({ wire, places }: Template, number: number): Buffer[] {
  const head = Buffer.from(wire.subarray(0, HEAD_BYTES));
  const digits = String(number).padStart(DIGITS, "0");
  for (const at of places) head.write(digits, at, "latin1");
  return wire.length > HEAD_BYTES ? [head, wire.subarray(HEAD_BYTES)] : [head];
}

/** The place behind the first of these that is there. */
function findAfter(wire: Buffer, ...markers: string[]): number {
  for (const marker of markers) {
    const at = wire.indexOf(marker);
    if (at >= 0) return at + marker.length;
  }
  throw new Error(`not in the composed message: ${markers.join(", ")}`);
}
