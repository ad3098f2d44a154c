// Below the text: what it costs, which signs make it dear, and a button that replaces them.

import { Button, formatNumber, LinkButton, Notice, t, useFieldErrors, useState, workspacePath } from "../../../kit.ts";
import { MarkedText, nameSigns } from "./signs.tsx";
import type { Cost as SmsCost, Counted } from "./use-cost.ts";

interface CostProps {
  counted: Counted | null;
  /** Credits; undefined: not known yet. */
  left: number | undefined;
  replace: (body: string) => void;
}

export function Cost({ counted, left, replace }: CostProps) {
  const words = t().smsCompose;
  const cost = counted?.cost;
  const signs = cost === undefined ? [] : cost.encoding === "ucs2" ? cost.offending : cost.doubled;
  const isFolding = cost !== undefined && cost.folded?.body === cost.sentText;
  return (
    <>
      <div class="prose">
        <dl class="meters">
          <Figure label={words.parts} value={cost?.segments} />
          <Figure label={words.left} value={left} />
          <Figure label={words.room} value={cost?.unitsLeft} />
        </dl>
        <div role="status">
          {cost !== undefined && signs.length > 0 && <p>{explainSigns(cost, signs)}</p>}
          {isFolding && <p>{words.isFolding}</p>}
        </div>
      </div>
      {cost !== undefined && (signs.length > 0 || isFolding) && (
        <MarkedText label={isFolding ? words.sentAs : words.marked} text={cost.sentText} signs={signs} />
      )}
      <Replacing counted={counted} isFolding={isFolding} replace={replace} />
      <Shortage cost={cost} left={left} />
    </>
  );
}

function Figure({ label, value }: { label: string; value: number | undefined }) {
  return (
    <div class="meter">
      <dt>{label}</dt>
      <dd>
        <strong>{value === undefined ? "–" : formatNumber(value)}</strong>
      </dd>
    </div>
  );
}

type ReplacingProps = Pick<CostProps, "counted" | "replace"> & { isFolding: boolean };

function Replacing({ counted, isFolding, replace }: ReplacingProps) {
  const words = t().smsCompose;
  const [replaced, setReplaced] = useState<{ before: string; after: string } | null>(null);
  const folded = counted?.cost.folded ?? null;
  if (counted !== null && folded !== null && !isFolding) {
    const press = () => {
      setReplaced({ before: counted.body, after: folded.body });
      replace(folded.body);
    };
    return (
      <div class="actions">
        <Button onClick={press}>{words.replace(words.countParts(folded.segments))}</Button>
      </div>
    );
  }
  if (replaced === null || counted?.body !== replaced.after) return null;
  return (
    <div class="actions">
      <Button onClick={() => replace(replaced.before)}>{words.putBack}</Button>
    </div>
  );
}

/** “ã” makes it 3 parts; without it 1. */
function explainSigns({ encoding, segments, without }: SmsCost, signs: string[]): string {
  const words = t().smsCompose;
  const named = nameSigns(signs);
  const isOne = signs.length === 1;
  if (without !== null) {
    const explain = isOne ? words.oneCosts : words.someCost;
    return explain(named, words.countParts(segments), words.countParts(without.segments));
  }
  if (encoding === "ucs2") return words.lessRoom(named);
  return isOne ? words.oneDoubled(named) : words.someDoubled(named);
}

/** Too few credits, as it looks or as the API said: the text stays, and can be sent when there are more. */
function Shortage({ cost, left }: { cost: SmsCost | undefined; left: number | undefined }) {
  const words = t().smsCompose;
  const isRefused = useFieldErrors("credits").length > 0;
  const isShort = cost !== undefined && left !== undefined && cost.credits > left;
  if (!isRefused && !isShort) return null;
  return (
    <Notice tone={isRefused ? "bad" : "slow"}>
      <p>{isRefused ? words.refused : words.short}</p>
      <LinkButton href={workspacePath("credits")}>{words.showCredits}</LinkButton>
    </Notice>
  );
}
