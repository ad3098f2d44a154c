// From a body to what is sent: normal form, folding where it saves a segment, encoding, parts. Pure.
// Accepting an SMS and its preview both use it, so that both say the same.

import {
  type Coding,
  doubledCharacters,
  type Encoding,
  normalForm,
  offendingCharacters,
} from "../encoding/encoding.ts";
import { fold, type Folding } from "../encoding/transliterate.ts";
import { type SplitText, splitText } from "../encoding/segment.ts";

/** What decides how a message goes: the route's coding and the workspace's folding. */
export interface TextRules {
  coding: Coding;
  folding: Folding;
}

export interface PreparedText {
  /** What is sent: the body in its normal form, folded or not. */
  sentText: string;
  isFolded: boolean;
  split: SplitText;
  /** Segments, which are what a message costs. */
  segments: number;
}

/** Prepares a body that `bodyFault` has nothing against; throws RangeError else. */
export function prepareText(body: string, { coding, folding }: TextRules): PreparedText {
  const asWritten = splitUp(normalForm(body), false, coding);
  return foldText(asWritten, { coding, folding }) ?? asWritten;
}

/** A message folded; null where that does not lower its number of segments. */
function foldText(text: PreparedText, { coding, folding }: TextRules): PreparedText | null {
  // One segment is the least there is.
  if (folding === "none" || text.segments === 1) return null;
  // A letter without its accent may combine with a mark that follows it.
  const candidate = normalForm(fold(text.sentText, folding));
  // Only invisible characters: folding would leave nothing.
  if (candidate === text.sentText || candidate === "") return null;
  const folded = splitUp(candidate, true, coding);
  return folded.segments < text.segments ? folded : null;
}

function splitUp(sentText: string, isFolded: boolean, coding: Coding): PreparedText {
  const split = splitText(sentText, coding);
  return { sentText, isFolded, split, segments: split.parts.length };
}

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
  /** Characters of what will be sent that take two septets, each once. */
  doubled: string[];
  /** The cost without the offending characters or, where there are none, without the doubled ones; null: it is no lower. */
  without: Cost | null;
  /** The body with its letters replaced, where that takes fewer segments: as it will be sent when the workspace folds, else as it could be. */
  folded: (Cost & { body: string }) | null;
  /** Septets or units of UTF-16 of what will be sent, and how many more fit before another segment begins. */
  unitsUsed: number;
  unitsLeft: number;
}

/** Computes the segments and the cost of `body`. Throws RangeError for a body that `bodyFault` refuses. */
export function preview(body: string, rules: TextRules): Preview {
  const sent = prepareText(body, rules);
  const folded = sent.isFolded ? sent : foldText(sent, { ...rules, folding: "portuguese" });
  const offending = offendingCharacters(normalForm(body), rules.coding);
  const doubled = sent.split.encoding === "ucs2" ? [] : doubledCharacters(sent.sentText, sent.split.alphabet);
  return {
    ...getCost(sent),
    sentText: sent.sentText,
    offending,
    doubled,
    without: getCostWithout(sent.split.encoding === "ucs2" ? offending : doubled, sent, rules.coding),
    folded: folded === null ? null : { body: folded.sentText, ...getCost(folded) },
    unitsUsed: sent.split.unitsUsed,
    unitsLeft: sent.split.unitsLeft,
  };
}

/** Null: it is no lower. */
function getCostWithout(left: string[], sent: PreparedText, coding: Coding): Cost | null {
  if (left.length === 0 || sent.segments === 1) return null;
  const rest = splitUp(Array.from(sent.sentText, (each) => (left.includes(each) ? "" : each)).join(""), false, coding);
  return rest.segments < sent.segments ? getCost(rest) : null;
}

function getCost({ split, segments }: PreparedText): Cost {
  return { encoding: split.encoding, segments, credits: segments };
}
