import { MissingPackage } from '../base/missing-package.ts';
import { printStatus } from './print-status.ts';

/** Exit codes of the commands that talk to a server, for scripts. */
export const ExitCode = {
  Ok: 0,
  /** The server or its tool returned an error, or the result or a recording could not be written. */
  Refused: 1,
  /** The command line is wrong. The usual code of shells. */
  Usage: 2,
  Unreachable: 3,
  Unauthorized: 4,
  Timeout: 5,
  /** 128 plus the number of SIGINT, as in shells. */
  Interrupted: 130,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Ends a command with a message for the user and an exit code for scripts. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }

  /** A mistake in the command line. */
  static usage(message: string): Failure {
    return new Failure(ExitCode.Usage, message);
  }
}

/** Prints why a command failed, and sets the exit code of the process. */
export function reportFailure(error: unknown): void {
  const exitCode = error instanceof Failure ? error.exitCode : 1;
  // The user who interrupts a command needs no message.
  if (exitCode !== ExitCode.Interrupted) printStatus(messageOf(error as Error));
  process.exitCode = exitCode;
}

/** A package has to be where everwire is, and only the user knows how everwire was installed. */
function messageOf(error: Error): string {
  if (!(error instanceof MissingPackage)) return error.message;
  const { message, packageName } = error;
  return [
    message,
    `if everwire is installed globally: npm install --global ${packageName}`,
    `with npx: npx -p everwire -p ${packageName} everwire …`,
  ].join('\n');
}
