/** The process around a command. */
export interface Terminal {
  env: Record<string, string | undefined>;
  /** The words behind the program's name. */
  args: readonly string[];
  /** One line, or several, to standard output. */
  out: (text: string) => void;
  /** Bytes to standard output, as they are. */
  write: (bytes: Uint8Array) => void;
  /** Lines to standard error. */
  err: (text: string) => void;
  /** Resolves when what was put out has been taken: a long list waits for its reader. */
  flushed: () => Promise<void>;
  /** Columns of the screen that standard output is; null: another program reads it. */
  width: number | null;
  /** A person sits there, who can be asked: standard input and output are a terminal. */
  isInteractive: boolean;
  /** What was asked for was shown, and the process ends with this code all the same. */
  ends: (exitCode: number) => void;
  /** Standard input. */
  input: () => AsyncIterable<Uint8Array>;
  /** Resolves with the signal that asks the process to end. */
  stopSignal: () => Promise<string>;
  /** From now on `tell` is told of failures that nobody waited for, instead of standard error. */
  tellBugsBy: (tell: (error: unknown) => void) => void;
  /** From now on the command goes on when the screen it was started from is gone, as with a lost connection. */
  outliveSession: () => void;
}
