import { ErrorCode } from '../../jsonrpc/errors.ts';
import { InvalidMessage } from '../../jsonrpc/parse.ts';

/** How many invalid lines of a connection are reported. Further ones are only counted. */
const MAX_REPORTED = 100;
/** How many invalid lines in a row close the connection. */
const MAX_IN_A_ROW = 1000;

/**
 * Counts the lines of a server that are not messages, such as logs on stdout. A server that sometimes logs there is
 * usable. A server that writes almost nothing else must not keep this process busy.
 */
export class Noise {
  #inARow = 0;
  #reported = 0;

  /** Whether to skip a line without reading it: it cannot be a message, and enough such lines have been reported. */
  skips(line: string): boolean {
    return this.#reported > MAX_REPORTED && !/^\s*[[{]/.test(line);
  }

  /** A line was a message. */
  end(): void {
    this.#inARow = 0;
  }

  /** Counts an invalid line. Returns the error to close the connection with, if there were too many in a row. */
  count(): InvalidMessage | undefined {
    this.#inARow += 1;
    if (this.#inARow < MAX_IN_A_ROW) return undefined;
    const message = `The server does not speak MCP: ${MAX_IN_A_ROW} lines in a row were not messages`;
    return new InvalidMessage(ErrorCode.ParseError, message);
  }

  /** The error to report for an invalid line. Undefined if enough were reported. */
  report(error: Error): Error | undefined {
    this.#reported += 1;
    if (this.#reported <= MAX_REPORTED) return error;
    if (this.#reported > MAX_REPORTED + 1) return undefined;
    return new Error(
      `The server wrote more than ${MAX_REPORTED} lines that are not messages; further ones are not reported`,
    );
  }
}
