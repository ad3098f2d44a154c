// Passwords: argon2id, few at once, since each takes 19 MiB and a processor for some time.

import { AppError } from "../../../platform/errors.ts";

/** OWASP's least: Bun's own default of 64 MiB each would multiply the memory that a flood of guesses takes. */
const ARGON2 = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
const MAX_AT_ONCE = 2;
const MAX_WAITING = 8;
const RETRY_S = 2;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** False for a hash of null, after the same time. `isKnown`: goes before those from anywhere, however many guess. */
  verify(password: string, hash: string | null, isKnown?: boolean): Promise<boolean>;
}

/** Both throw UNAVAILABLE while too many wait. */
export function createPasswords(): Passwords {
  /** Those who were here before, and the others. */
  const known: (() => void)[] = [];
  const others: (() => void)[] = [];
  let running = 0;
  /** For no account, or one without a password: the same work, so that the time tells nothing. */
  let dummy: string | null = null;

  async function limited<T>(waiting: (() => void)[], work: () => Promise<T>): Promise<T> {
    if (running < MAX_AT_ONCE) running += 1;
    else if (waiting.length >= MAX_WAITING) throw tooMany();
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place goes to the next one, so that it is never counted as free in between.
      const next = known.shift() ?? others.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  const hash = (password: string) => limited(others, () => Bun.password.hash(normalize(password), ARGON2));
  return {
    hash,
    async verify(password, against, isKnown = false) {
      const isRight = await limited(isKnown ? known : others, async () => {
        dummy ??= await Bun.password.hash("nobody", ARGON2);
        return Bun.password.verify(normalize(password), against ?? dummy);
      });
      return isRight && against !== null;
    },
  };
}

/** Keyboards write é in more than one way. */
function normalize(password: string): string {
  return password.normalize("NFC");
}

function tooMany(): AppError {
  return new AppError("UNAVAILABLE", "Too many sign-ins are being checked now", {
    hint: "Try again in a few seconds.",
    retryAfterS: RETRY_S,
  });
}
