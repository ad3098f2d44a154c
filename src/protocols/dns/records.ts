/**
 * How much of an answer is kept. The message has been read whole; what is held in memory, and worked
 * with, is what mail needs of it, however many records a stranger puts under a name. Pure, but for chance.
 */
import type { Random } from "../../platform/random.ts";
import type { MxRecord } from "./lookup.ts";
import type { QueryType } from "./wire-format.ts";

const MX_LIMIT = 50;
const RECORDS_LIMIT = 16;
/** Of all TXT records of a name. A key of 4,096 bits has 750 characters. */
const TXT_CHARACTERS = 16 * 1024;

/** The best MX, equals drawn by lot; of all others the first, of TXT those that say what they are (`v=`) before others. */
export function keepRecords(
  type: QueryType,
  values: readonly (string | MxRecord)[],
  random: Pick<Random, "unit">,
): (string | MxRecord)[] {
  if (type === "MX")
    return keepBest(
      values.filter((value) => typeof value !== "string"),
      random,
    );
  const texts = values.filter((value) => typeof value === "string");
  return type === "TXT" ? keepTexts(texts) : texts.slice(0, RECORDS_LIMIT);
}

function keepBest(records: MxRecord[], random: Pick<Random, "unit">): MxRecord[] {
  if (records.length <= MX_LIMIT) return records;
  return records
    .map((record) => ({ record, chance: random.unit() }))
    .toSorted((a, b) => a.record.preference - b.record.preference || a.chance - b.chance)
    .slice(0, MX_LIMIT)
    .map(({ record }) => record);
}

function keepTexts(texts: string[]): string[] {
  // A busy domain has dozens of site verifications beside its one policy.
  const isNamed = (text: string) => /^\s*v\s*=/i.test(text);
  const ordered =
    texts.length <= RECORDS_LIMIT ? texts : [...texts.filter(isNamed), ...texts.filter((text) => !isNamed(text))];
  let left = TXT_CHARACTERS;
  return ordered.slice(0, RECORDS_LIMIT).filter((text) => (left -= text.length) >= 0);
}
