/**
 * A sender id as the source address of a submit_sm. Which ids there are is modules/workspaces/sender-kind.ts's
 * to say; routes may name other types of number than these. Pure.
 */
import { senderKind, type SenderKind } from "../../workspaces/sender-kind.ts";

/** SMPP 3.4 §5.2.5, §5.2.6: type of number and numbering plan. */
export interface NumberType {
  ton: number;
  npi: number;
}

/** Alphanumeric; network specific; international in the ISDN plan (E.164). */
const DEFAULT_TYPES: Record<SenderKind, NumberType> = {
  alphanumeric: { ton: 5, npi: 0 },
  short: { ton: 3, npi: 0 },
  long: { ton: 1, npi: 1 },
};

/** A route's own types, for operators that want 0/1 or 6/0 for their short codes. */
export type NumberTypes = Partial<Record<SenderKind, NumberType>>;

export interface SourceAddress extends NumberType {
  /** ASCII, at most 15 digits or 11 other characters; numbers without `+`. */
  address: string;
}

/** The source address of a sender id; null: it is none that can be assigned. */
export function sourceAddress(senderId: string, types: NumberTypes = {}): SourceAddress | null {
  const kind = senderKind(senderId);
  if (kind === null) return null;
  return { ...(types[kind] ?? DEFAULT_TYPES[kind]), address: senderId.replace(/^\+/, "") };
}
