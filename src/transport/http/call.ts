import type { AuthInfo } from '../../protocol/types.ts';

/**
 * One HTTP request being answered: all that the handler needs of an HTTP server. `node:http` drives it directly, and a
 * thin adapter stands between it and web-standard `Request` and `Response`.
 */
export interface HttpCall {
  /** In upper case. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Without the question mark; empty where there is none. */
  readonly query: string;
  /** Who the caller is, where something before the handler has authenticated it. */
  readonly principal: string | undefined;
  /** What else is known of the caller, where it showed a credential. */
  readonly auth: AuthInfo | undefined;
  /** About how many bytes of memory the body takes once it is parsed; 0 until it has been read. */
  readonly bodyBytes: number;
  /** Where the connection comes from, where that is known: a client's address, or a proxy's. */
  readonly address: string | undefined;
  /** The client went away, as far as that shows. */
  readonly gone: boolean;
  /**
   * A header of the request; undefined where it has none.
   *
   * @param name in lower case. A header that came more than once is joined by commas, as HTTP has it.
   */
  header(name: string): string | undefined;
  /**
   * Reads the body, at most once. Resolves with the body, or with the reason if it is larger than `limit` bytes or there is
   * no memory for it. If the client goes away before the end of the body, it does not settle.
   */
  readBody(limit: number): Promise<Uint8Array | BodyRefusal>;
  /** Reports that the call is refused, for the value of a header if that is why. Called before `respond`. */
  refused(reason: RefusalReason, status: number, value?: string): void;
  /** Answers at once and for good. */
  respond(status: number, headers: HttpHeaders, body?: HttpBody): void;
  /** Begins a streamed answer. */
  stream(status: number, headers: HttpHeaders): HttpStream;
}

/** Why a request is refused, or an answer broken off (`unread`). Any other mistake of the client is `malformed`. */
export type RefusalReason =
  | 'host'
  | 'origin'
  | 'credential'
  | 'credential_unchecked'
  | 'scope'
  | 'too_many_sessions'
  | 'too_many_requests'
  | 'pipelining'
  | 'memory'
  | 'unread'
  | 'body_size'
  | 'shutting_down'
  | 'malformed';

/** A request that is refused. */
export interface HttpRefusal {
  readonly reason: RefusalReason;
  /** The HTTP status; undefined if an answer that had begun is broken off. */
  readonly status: number | undefined;
  /** The host or the origin that is refused, as the client sent it, in at most 100 characters. */
  readonly value?: string;
}

/** Why there is no body. */
export type BodyRefusal = 'too large' | 'no room';

/** Text, or bytes in parts. */
export type HttpBody = string | readonly Uint8Array[];

/** Headers of an answer, by name. */
export type HttpHeaders = Readonly<Record<string, string>>;

/** An answer that is written bit by bit. */
export interface HttpStream {
  /** False where the reader is behind: `ondrain` is called when it has caught up. What was written is kept all the same. */
  write(text: string): boolean;
  /** Nothing more follows; what was written goes out. */
  end(): void;
  /** Breaks the connection off. */
  destroy(): void;
  /** Adds to the count of bytes that are kept for the reader beside what was written; a negative number takes away. */
  keep(bytes: number): void;
  /** Breaks it off when the reader has taken nothing for so many milliseconds, from now on; 0 to stop watching. */
  watch(timeout: number): void;
  /** The reader that was behind has caught up. */
  ondrain: (() => void) | undefined;
  /** The client is gone, or the stream was ended or destroyed. Called once. */
  onclose: (() => void) | undefined;
}
