/**
 * From a body to what is sent: normal form, folding where it saves a segment, encoding, parts. The one
 * way for accepting an SMS and for its preview, so that both say the same. Pure.
 */
import { type Coding, normalForm, offendingCharacters } from "../encoding/encoding.ts";
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
  return foldedText(asWritten, { coding, folding }) ?? asWritten;
}

/** A message folded; null where that does not lower its number of segments. */
export function foldedText(text: PreparedText, { coding, folding }: TextRules): PreparedText | null {
  // One segment is the least there is.
  if (folding === "none" || text.segments === 1) return null;
  // A letter without its accent may combine with a mark that follows it.
  const candidate = normalForm(fold(text.sentText, folding));
  // Nothing but signs that are not seen: folded, nothing would be left.
  if (candidate === text.sentText || candidate === "") return null;
  const folded = splitUp(candidate, true, coding);
  return folded.segments < text.segments ? folded : null;
}

function splitUp(sentText: string, isFolded: boolean, coding: Coding): PreparedText {
  const split = splitText(sentText, coding);
  return { sentText, isFolded, split, segments: split.parts.length };
}

/** What of the body, unfolded, keeps it from seven bits: each character once. */
export function offendingIn(body: string, coding: Coding): string[] {
  return offendingCharacters(normalForm(body), coding);
}
