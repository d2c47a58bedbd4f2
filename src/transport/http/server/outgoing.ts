import type { HttpHeaders } from './call.ts';

/** The response to one request, as an HTTP server writes it. */
export interface Outgoing {
  /** Whether the client has left. */
  readonly destroyed: boolean;
  /** Whether a response has begun. */
  readonly headersSent: boolean;
  /** Whether `end` was called. */
  readonly writableEnded: boolean;
  /** The bytes that the kernel has not taken yet. */
  readonly writableLength: number;
  /**
   * Whether other code may be in front of the kernel, such as a middleware that compresses. It may need what was written for
   * longer than `writableLength` says.
   */
  readonly mayBeWrapped: boolean;
  /** Whether a write returned false, and `ondrain` was not called since. */
  readonly writableNeedDrain: boolean;
  /** Called when the kernel has taken everything after a write that returned false. */
  ondrain: (() => void) | undefined;
  /** Called once: the kernel has taken the whole response, or the client has left. */
  onclose: (() => void) | undefined;
  /**
   * Begins the response. The head goes out with the first part of the body.
   *
   * @param length the bytes of the body. Undefined for a stream, whose head goes out at once.
   * @param last whether the connection closes after this response.
   */
  begin(status: number, headers: HttpHeaders, length: number | undefined, last: boolean): void;
  /** Returns false if more should wait for `ondrain`. */
  write(data: string | Uint8Array, encoding?: 'latin1' | 'utf8'): boolean;
  /** Ends the response, after this data. */
  end(data?: string | Uint8Array, encoding?: 'latin1' | 'utf8'): void;
  /** Writes everything together that is written before the end. */
  cork(): void;
  /** Closes the connection at once. */
  destroy(): void;
  /** From now on, and until the response is complete, disconnects a client that reads nothing for this long; 0 for never. */
  watch(timeout: number): void;
}
