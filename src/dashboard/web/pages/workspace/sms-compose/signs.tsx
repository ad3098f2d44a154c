// Signs that make an SMS longer: their names, and where they stand in the text.

import { formatNumber, t } from "../../../kit.ts";

const MAX_NAMED = 6;

/** “ã”, “€” and U+200B, which nobody would see. */
export function nameSigns(signs: string[]): string {
  const named = signs.slice(0, MAX_NAMED).map(nameSign).join(", ");
  const rest = signs.length - MAX_NAMED;
  return rest > 0 ? t().smsCompose.andMore(named, formatNumber(rest)) : named;
}

function nameSign(sign: string): string {
  if (!/^[\p{Z}\p{C}\p{M}]/u.test(sign)) return `“${sign}”`;
  return `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

interface MarkedTextProps {
  label: string;
  text: string;
  signs: string[];
}

export function MarkedText({ label, text, signs }: MarkedTextProps) {
  return (
    <figure class="marked">
      <figcaption class="hint">{label}</figcaption>
      <p dir="auto">
        {splitAtSigns(text, signs).map(({ words, isMarked }, nth) =>
          isMarked ? <mark key={nth}>{words}</mark> : words,
        )}
      </p>
    </figure>
  );
}

/** Signs that stand side by side are marked as one: an emoji may be several. */
function splitAtSigns(text: string, signs: string[]): { words: string; isMarked: boolean }[] {
  const pieces: { words: string; isMarked: boolean }[] = [];
  for (const sign of text) {
    const isMarked = signs.includes(sign);
    const last = pieces.at(-1);
    if (last?.isMarked === isMarked) last.words += sign;
    else pieces.push({ words: sign, isMarked });
  }
  return pieces;
}
