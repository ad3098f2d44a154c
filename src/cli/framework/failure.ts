/** 1: refused or failed, 2: wrong usage; help.ts lists the others. */
export type FailureCode = 1 | 2 | 3 | 4 | 130;

/** A command failed. Only the message is shown, so it says what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: FailureCode;

  constructor(message: string, exitCode: FailureCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command line is wrong; the command's help is added to the message. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
