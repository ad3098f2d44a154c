// The connections of one attempt, as its row keeps them: an attempt may try several hosts and
// addresses, and each in TLS and then in clear. The row's own columns tell of the one with the last
// word; most attempts have no other, and then nothing is kept here.

import { joinDialogues } from "../../../protocols/smtp/session/transcript.ts";
import type { OwnReply } from "../../../protocols/smtp/replies/remove-echo.ts";
import type { Transmission, ConnectionAttempt } from "../../../protocols/smtp/transmit.ts";

/** One connection made or tried, in the attempt's order; `endedAt` in Unix ms. */
export type StoredTry = ReturnType<typeof toStoredTry>;

/** The columns of an attempt without a connection. */
export const NO_CONNECTION = {
  egress: null,
  host: null,
  address: null,
  tls: null,
  stage: null,
  code: null,
  enhancedCode: null,
  reply: null,
  tries: null,
  dialogue: null,
};

/** The column `tries` of an attempt: JSON, or null when there was one connection or none. */
export function formatTries({ tries }: Pick<Transmission, "tries">): string | null {
  return tries.length > 1 ? JSON.stringify(tries.map(toStoredTry)) : null;
}

/** The column `dialogue`: what was said over the connections that did not deliver; null where the first one did. */
export function formatDialogue({ tries }: Pick<Transmission, "tries">): string | null {
  return joinDialogues(
    tries.flatMap(({ host, address, dialogue }) => (dialogue === null ? [] : [{ host, address, text: dialogue }])),
  );
}

export function parseTries(stored: string | null): StoredTry[] | null {
  return stored === null ? null : (JSON.parse(stored) as StoredTry[]);
}

export function formatTls(tls: ConnectionAttempt["tls"]): string | null {
  return tls === null ? null : `${tls.protocol} ${tls.cipher}`;
}

/** Codes and words of an attempt's record: the server's, or our own finding, which has no code of the server's. */
export function toReplyColumns(
  result: ConnectionAttempt["result"],
  heard: OwnReply | null = null,
): { code: number | null; enhancedCode: string | null; reply: string } {
  if (result.kind === "broken") return { code: null, enhancedCode: null, reply: result.reason };
  if (result.kind === "unfit")
    return { code: null, enhancedCode: result.enhanced, reply: `Not sent: ${result.reason}` };
  const { code, enhanced, text } = result.reply;
  return { code, enhancedCode: heard === null ? enhanced : heard.enhanced, reply: text };
}

function toStoredTry({ host, address, isReused, tls, result, endedAt }: ConnectionAttempt) {
  return {
    host,
    address,
    isReused,
    tls: formatTls(tls),
    stage: result.kind === "accepted" ? "dot" : result.stage,
    ...toReplyColumns(result),
    endedAt,
  };
}
