type ExitCode = 1 | 2 | 3 | 4 | 130;

/**
 * A command ends without what it was asked for: 1 = refused or failed, 2 = not understood; 3, 4 and 130 (ended by a
 * signal) are a command's own. The message is all that is shown, and says what to do.
 */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command line is not one that the command understands; what knows the command adds how it is used. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
