import { expect, test } from "bun:test";
import { SegmentedMessage } from "sms-segments-calculator";
import { normalForm } from "../../../src/modules/sms/encoding/encoding.ts";
import { readHeader } from "../../../src/modules/sms/encoding/user-data-header.ts";
import { reassemble, readPart } from "../../../src/modules/sms/encoding/reassemble.ts";
import { splitText, toSubmissions } from "../../../src/modules/sms/encoding/segment.ts";
import { seeded } from "../../support/db/temporary.ts";
import { joinParts, METHODS, PLAIN, randomLength, randomText, SHIFT_TABLES } from "../../support/sms/texts.ts";

// Others count as we do, and phones read what we write. ROUNDS and SEED make it longer, and the same again.

/** Of so many texts each: a soak's 8,000 are 10. */
const ROUNDS = Math.max(1, Math.round(Number(process.env["ROUNDS"] ?? 1) / 800));
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const TEXTS = 10_000;
const LIMIT_MS = ROUNDS * 60_000;

test(
  `segments are as many as sms-segments-calculator counts in ${TEXTS} texts (seed ${SEED})`,
  () => {
    const chance = seeded(SEED);
    for (let round = 0; round < ROUNDS * TEXTS; round += 1) {
      // It takes quadratic time: most texts are short, as in life.
      const text = normalForm(randomText(chance, Math.min(randomLength(chance), round % 20 === 0 ? 1_600 : 320)));
      const { encoding, parts } = splitText(text, PLAIN);
      const theirs = new SegmentedMessage(text);
      expect([text, encoding, parts.length]).toEqual([
        text,
        theirs.encodingName === "GSM-7" ? "gsm7" : "ucs2",
        theirs.segmentsCount,
      ]);
    }
  },
  LIMIT_MS,
);

test(
  `parts joined again are the text, by every method and table (seed ${SEED})`,
  () => {
    const chance = seeded(SEED);
    for (let round = 0; round < ROUNDS * 1_000; round += 1) {
      const text = normalForm(randomText(chance, randomLength(chance)));
      const reference = Math.floor(chance() * 0x1_0000);
      for (const segmentation of METHODS)
        for (const shiftTables of SHIFT_TABLES) {
          const split = splitText(text, { ...PLAIN, segmentation, shiftTables });
          expect(joinParts(split)).toBe(text);
          const parts = toSubmissions(split, { segmentation, defaultCharset: "gsm7", reference }).map((each) =>
            readPart({
              esmClass: each.hasHeader ? 0x40 : 0,
              dataCoding: each.dataCoding,
              message: each.messagePayload ?? each.shortMessage,
              sar: each.sar,
            }),
          );
          const shuffled = parts.toSorted(() => chance() - 0.5);
          expect(reassemble(shuffled, false, "gsm7")).toEqual({ text, missing: [] });
        }
    }
  },
  LIMIT_MS,
);

test(`a header of any octets is read or refused, and never past its end (seed ${SEED})`, () => {
  const chance = seeded(SEED);
  for (let round = 0; round < ROUNDS * 5_000; round += 1) {
    const bytes = Uint8Array.from({ length: Math.floor(chance() * 20) }, () =>
      Math.floor(chance() * (chance() < 0.5 ? 10 : 256)),
    );
    const header = readHeader(bytes);
    if (header === null) expect(bytes.length).toBeLessThan(1 + (bytes[0] ?? 0));
    else expect(header.length).toBeLessThanOrEqual(bytes.length);
  }
});
