// A sender id as the source address of a submit_sm. Pure.

import type { TonNpi } from "../../../config/sms.ts";
import type { Address } from "../../../protocols/smpp/pdu/pdu.ts";
import { senderKind, type SenderKind } from "../../workspaces/sender-kind.ts";

/** Alphanumeric; network specific; international in the ISDN plan (E.164). */
const DEFAULT_TYPES: Record<SenderKind, TonNpi> = {
  alphanumeric: { ton: 5, npi: 0 },
  short: { ton: 3, npi: 0 },
  long: { ton: 1, npi: 1 },
};

/**
 * The source address of a sender id: ASCII, at most 15 digits or 11 other characters, numbers without `+`. Null: it is none
 * that can be assigned. `types`: a route's own, for operators that want 0/1 or 6/0 for their short codes.
 */
export function sourceAddress(senderId: string, types: Partial<Record<SenderKind, TonNpi>> = {}): Address | null {
  const kind = senderKind(senderId);
  if (kind === null) return null;
  return { ...(types[kind] ?? DEFAULT_TYPES[kind]), address: senderId.replace(/^\+/, "") };
}
