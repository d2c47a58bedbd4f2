import type { Capture } from '../inspect/capture.ts';
import type { ConnectionTap, WireConnection, Wiretap } from '../transport/wiretap.ts';

/**
 * Gives all connections of a check to one capture, and knows which of them carry only what a correct client sends. The
 * others have bad input, so they are not judged by the rules for the wire.
 */
export class Marks {
  readonly #capture: Capture;
  #connections = 0;
  readonly #correct = new Set<number>();

  constructor(capture: Capture) {
    this.#capture = capture;
  }

  /** The number of the newest record. Taken when something came, it is that of the last part which this completed. */
  get newest(): number {
    return this.#capture.newest;
  }

  /** The number of the newest connection. */
  get connection(): number {
    return this.#connections;
  }

  /** The numbers of the messages that a server sent on a connection after a record, in their order. */
  messagesAfter(n: number, connection: number): number[] {
    return this.#capture
      .after(n)
      .filter((each) => each.layer === 'message' && each.conn === connection && each.dir === 's>c')
      .map((each) => each.n);
  }

  /** For connections of a correct client. */
  readonly correct: Wiretap = { open: (connection) => this.#open(connection, true) };

  /** For connections that may have bad input. */
  readonly probing: Wiretap = { open: (connection) => this.#open(connection, false) };

  isCorrect(connection: number): boolean {
    return this.#correct.has(connection);
  }

  #open(connection: WireConnection, isCorrect: boolean): ConnectionTap {
    // The capture counts its connections the same way.
    this.#connections += 1;
    if (isCorrect) this.#correct.add(this.#connections);
    return this.#capture.open(connection);
  }
}
