/** The process around a command: arguments, environment, streams and signals. */
export interface Terminal {
  env: Record<string, string | undefined>;
  args: readonly string[];
  /** One line, or several, to standard output. */
  out: (text: string) => void;
  /** Bytes to standard output, as they are. */
  write: (bytes: Uint8Array) => void;
  /** Lines to standard error. */
  err: (text: string) => void;
  /** Resolves when the output was read: a long list waits for its reader. */
  flushed: () => Promise<void>;
  /** Columns of the screen that standard output is; null: another program reads it. */
  width: number | null;
  /** Standard input and output are a terminal, so a person can be asked. */
  isInteractive: boolean;
  /** For a command that does not fail, and still ends with this code. */
  setExitCode: (exitCode: number) => void;
  input: () => AsyncIterable<Uint8Array>;
  /** Resolves with the signal that asks the process to end. */
  stopSignal: () => Promise<string>;
  /** From now on unhandled rejections go to `report` instead of standard error. */
  onUnhandledRejection: (report: (error: unknown) => void) => void;
  /** From now on the command goes on when its terminal is gone, as with a lost connection. */
  outliveSession: () => void;
}
