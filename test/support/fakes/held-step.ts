// A step of a mail server that waits until the test lets it go.

export interface HeldStep {
  /** Somebody waits for the answer. */
  readonly reached: Promise<void>;
  go(): void;
  step(): Promise<string>;
}

export function holdStep(answer: string): HeldStep {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    go: () => released.resolve(),
    async step() {
      reached.resolve();
      await released.promise;
      return answer;
    },
  };
}
