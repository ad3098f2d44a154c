// The capabilities of a server, from its answer to EHLO, and the messages that it cannot take without them. Pure.

import type { Stage } from "../replies/stage.ts";

/** The server's offer, from its answer to the last EHLO. */
export interface Capabilities {
  hasPipelining: boolean;
  hasStartTls: boolean;
  has8BitMime: boolean;
  hasSmtpUtf8: boolean;
  /** The largest message it takes, 0 for no fixed limit, null when SIZE is not offered (RFC 1870). */
  maxSizeBytes: number | null;
  /** The mechanisms of AUTH, in upper case. */
  authMechanisms: string[];
}

/** Our own finding, from what the server offers (R19, R21): nothing was sent, and the server has said nothing of the message. */
export interface Unfit {
  kind: "unfit";
  stage: Stage;
  /** Of RFC 3463, for the record: `5.3.4`. */
  enhanced: string;
  /** For people; `the server` is the one that was connected to. */
  reason: string;
}

/** RFC 5321 §4.1.1.1: one keyword a line, its parameters after it. */
export function readCapabilities(lines: string[]): Capabilities {
  const offered = new Map(lines.map((line) => [line.replace(/ .*/, "").toUpperCase(), line]));
  const size = offered.get("SIZE")?.split(" ")[1] ?? "0";
  return {
    hasPipelining: offered.has("PIPELINING"),
    hasStartTls: offered.has("STARTTLS"),
    has8BitMime: offered.has("8BITMIME"),
    hasSmtpUtf8: offered.has("SMTPUTF8"),
    maxSizeBytes: offered.has("SIZE") ? (/^\d{1,15}$/.test(size) ? Number(size) : 0) : null,
    authMechanisms: readMechanisms(lines),
  };
}

/** The keywords after AUTH in the answer to EHLO, also in the form of old servers (`AUTH=LOGIN`), in upper case. */
function readMechanisms(lines: string[]): string[] {
  const offers = lines.map((line) => /^AUTH[ =](.*)$/i.exec(line)?.[1] ?? "");
  return [...new Set(offers.flatMap((offer) => offer.toUpperCase().split(/[ =]+/)))].filter((name) => name !== "");
}
