import { putLast } from "../platform/put-last.ts";

/** More are not remembered; the oldest are forgotten. */
export const MAX_REMEMBERED_TRIES = 10_000;

/** How often each segment, or each message to one recipient, was submitted. */
export class Tries {
  readonly #tries = new Map<string, number>();

  /** Counts one; how many there were with it. */
  count(key: string): number {
    const tries = (this.#tries.get(key) ?? 0) + 1;
    putLast(this.#tries, key, tries, MAX_REMEMBERED_TRIES);
    return tries;
  }

  /** It was taken: the next like it is another. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}
