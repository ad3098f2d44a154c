/** Randomness as an argument: a test can hand in a seeded one. */
export interface Random {
  /** `count` unpredictable bytes. */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1). For jitter and shuffling, never for secrets. */
  unit(): number;
}

/** The machine's source of randomness. */
export const systemRandom: Random = {
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  unit: () => Math.random(),
};
