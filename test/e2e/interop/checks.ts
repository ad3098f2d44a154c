// The lines of an interoperability run: one per check, and the sum at the end.

import { isDeepStrictEqual } from "node:util";

const SHOWN_CHARACTERS = 300;

export class Checks {
  #passed = 0;
  #failed = 0;

  get hasFailed(): boolean {
    return this.#failed > 0;
  }

  /** Prints and counts one check. `detail` is shown when it failed. */
  claim(name: string, isTrue: boolean, detail: () => unknown = () => ""): boolean {
    if (isTrue) this.#passed++;
    else this.#failed++;
    console.log(isTrue ? `ok      ${name}` : `FAILED  ${name}: ${show(detail())}`);
    return isTrue;
  }

  equal(name: string, seen: unknown, expected: unknown): boolean {
    return this.claim(name, isDeepStrictEqual(seen, expected), () => differenceOf(seen, expected));
  }

  /** Runs checks that may throw, for example because nothing came in time; that is one failed check. */
  async group(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.claim(name, false, () => (error instanceof Error ? error.message : error));
    }
  }

  /** Prints the sum. @returns the exit code */
  finish(): number {
    console.log(`${this.#passed} passed, ${this.#failed} failed`);
    return this.#failed === 0 && this.#passed > 0 ? 0 : 1;
  }
}

/** For long texts: where they part. */
function differenceOf(seen: unknown, expected: unknown): string {
  if (typeof seen !== "string" || typeof expected !== "string") return `${show(seen)}; expected ${show(expected)}`;
  let at = 0;
  while (at < seen.length && seen[at] === expected[at]) at++;
  const from = Math.max(0, at - 40);
  return (
    `at character ${at} of ${seen.length} (expected ${expected.length}): ` +
    `…${show(seen.slice(from, at + 80))}; expected …${show(expected.slice(from, at + 80))}`
  );
}

function show(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
