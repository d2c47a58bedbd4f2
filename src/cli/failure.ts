/** Exit codes of the commands that talk to a server, for scripts. */
export const ExitCode = {
  Ok: 0,
  /** The server, or its tool, answered with an error, or what it answered could not be written. */
  Refused: 1,
  /** A command line that cannot be understood, as shells have it. */
  Usage: 2,
  Unreachable: 3,
  Unauthorized: 4,
  Timeout: 5,
  /** 128 and the number of SIGINT, as shells have it. */
  Interrupted: 130,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Ends a command, with a message for the person and a code for the script. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }

  /** A mistake of whoever wrote the command line. */
  static usage(message: string): Failure {
    return new Failure(ExitCode.Usage, message);
  }
}
