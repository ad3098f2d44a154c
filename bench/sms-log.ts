// What happened to each number of a run, and when: the peers of `script/bench sms` note it, the program reads it.

/** Every text of a run has a number of its own. */
export const MAX_NUMBERS = 1_000_000;
const DIGITS = 7;

/** The last digits of its phone number; what stands before them says which link it goes by. */
export function digitsOf(number: number): string {
  return String(number).padStart(DIGITS, "0");
}

export function numberIn(phone: string): number {
  return Number(phone.slice(-DIGITS));
}

/** Unix ms with a fraction, the same in every process of this machine. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

/** As it goes over HTTP: of numbers from 0 on, when each came first (0: never) and how often. */
export interface NumberTimes {
  times: number[];
  counts: number[];
}

export class NumberLog {
  total = 0;
  distinct = 0;
  doubled = 0;
  lastAt = 0;
  readonly #times = new Float64Array(MAX_NUMBERS);
  readonly #counts = new Uint8Array(MAX_NUMBERS);
  #end = 0;

  note(number: number, at: number): void {
    const before = this.#counts[number] ?? 0;
    this.#counts[number] = before + 1;
    this.total += 1;
    this.lastAt = at;
    if (before === 1) this.doubled += 1;
    if (before > 0) return;
    this.#times[number] = at;
    this.distinct += 1;
    this.#end = Math.max(this.#end, number + 1);
  }

  toJSON(): NumberTimes {
    return { times: [...this.#times.subarray(0, this.#end)], counts: [...this.#counts.subarray(0, this.#end)] };
  }
}
