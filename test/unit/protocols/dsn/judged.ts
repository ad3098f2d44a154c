import { describe, expect, test } from "bun:test";
import { parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import type { Category } from "../../../../src/protocols/smtp/replies/classify.ts";

/** `suppress`: permanent and hard. `bounce`: permanent, the recipient stays. `passing`: given up, but not refused for good. */
export type Expected = [category: Category, decision: "suppress" | "bounce" | "passing" | "delayed"];

function judged(bytes: Uint8Array): Expected | string {
  const read = parseReport(bytes, "maria@example.com");
  if (read.kind === "delayed") return ["unknown", "delayed"];
  if (read.kind !== "bounce") return read.kind;
  return [read.category, read.isHard ? "suppress" : read.isPermanent ? "bounce" : "passing"];
}

/** A test for each mail: what it is judged to mean for maria@example.com. */
export function table(name: string, cases: Record<string, [Uint8Array, Expected]>): void {
  describe(name, () => {
    for (const [what, [bytes, expected]] of Object.entries(cases)) {
      test(what, () => {
        expect(judged(bytes)).toEqual(expected);
      });
    }
  });
}
