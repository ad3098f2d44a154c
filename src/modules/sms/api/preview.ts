/**
 * What a message would cost, without sending it: POST /api/v1/sms/preview. All figures come from
 * prepare.ts, which accepting goes through too. Pure.
 */
import type { Encoding } from "../encoding/encoding.ts";
import { foldedText, offendingIn, type PreparedText, prepareText, type TextRules } from "./prepare.ts";

/** The members that a message has, and its folded form. */
interface Cost {
  encoding: Encoding;
  segments: number;
  credits: number;
}

export interface Preview extends Cost {
  /** The body as it will be sent. */
  sentText: string;
  /** Characters of the body that force UCS-2, each once; empty when the body as written needs none. */
  offending: string[];
  /** The body with its letters replaced, where that takes fewer segments: as it will be sent when the workspace folds, else as it could be. */
  folded: (Cost & { body: string }) | null;
  /** Septets or units of UTF-16 of what will be sent, and how many more fit before another segment begins. */
  unitsUsed: number;
  unitsLeft: number;
}

/** What a send of `body` by these rules would do. Throws RangeError for a body that `bodyFault` refuses. */
export function preview(body: string, rules: TextRules): Preview {
  const sent = prepareText(body, rules);
  const folded = sent.isFolded ? sent : foldedText(sent, { ...rules, folding: "portuguese" });
  return {
    ...getCost(sent),
    sentText: sent.sentText,
    offending: offendingIn(body, rules.coding),
    folded: folded === null ? null : { body: folded.sentText, ...getCost(folded) },
    unitsUsed: sent.split.unitsUsed,
    unitsLeft: sent.split.unitsLeft,
  };
}

function getCost({ split, segments }: PreparedText): Cost {
  return { encoding: split.encoding, segments, credits: segments };
}
