/** 1 = refused or failed, 2 = not understood, 3 = no instance runs; a command's own: 3, 4, 130 (help.ts has them all). */
export type FailureCode = 1 | 2 | 3 | 4 | 130;

/** A command ends without what it was asked for. The message is all that is shown, and says what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: FailureCode;

  constructor(message: string, exitCode: FailureCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command line is not one that the command understands; what knows the command adds how it is used. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
