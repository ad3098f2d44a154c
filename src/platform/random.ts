/** Randomness as an argument: a test can hand in a seeded one. */
export interface Random {
  /** `count` unpredictable bytes. */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1). For jitter and shuffling, never for secrets. */
  unit(): number;
}

/** Asked of the system at once: every email needs some bytes for its id, and every asking is a system call. */
const STOCK_BYTES = 4_096;

let stock = new Uint8Array();
let used = 0;

function takeBytes(count: number): Uint8Array {
  if (count > STOCK_BYTES) return crypto.getRandomValues(new Uint8Array(count));
  if (used + count > stock.length) {
    stock = crypto.getRandomValues(new Uint8Array(STOCK_BYTES));
    used = 0;
  }
  const taken = stock.slice(used, used + count);
  // What was handed out must not lie here for a second reader.
  stock.fill(0, used, used + count);
  used += count;
  return taken;
}

export const systemRandom: Random = {
  bytes: takeBytes,
  unit: () => Math.random(),
};
