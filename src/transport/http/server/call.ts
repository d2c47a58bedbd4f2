import type { AuthInfo } from '../../../protocol/types.ts';

/**
 * One HTTP request: everything that the handler needs from an HTTP server. There are three: our own, `node:http`, and the
 * web-standard `Request` and `Response`.
 */
export interface HttpCall {
  /** In upper case. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The path that the client requested, if a framework has removed the front part of `path`. Default: `path`. */
  readonly originalPath?: string | undefined;
  /** Without the question mark. Empty if there is none. */
  readonly query: string;
  /** The caller, if something in front of the handler has authenticated it. */
  readonly principal: string | undefined;
  /** More about an authenticated caller. */
  readonly auth: AuthInfo | undefined;
  /** About how many bytes of memory the parsed body takes. 0 until it has been read. */
  readonly bodyBytes: number;
  /** The remote address of the connection, if known: a client's or a proxy's. */
  readonly address: string | undefined;
  /** Whether the client is known to have disconnected. */
  readonly gone: boolean;
  /**
   * A header of the request. Undefined if it is absent.
   *
   * @param name in lower case. A repeated header is joined with commas, as in HTTP.
   */
  header(name: string): string | undefined;
  /**
   * Reads the body, at most once. Resolves with the body, or with the reason if it is larger than `limit` bytes, there is
   * no memory for it, or something else has read it. If the client disconnects before the end of the body, the promise
   * never settles.
   *
   * @param share the share (`shareOf`) whose part of the memory for requests the body uses. Undefined if it is unknown.
   */
  readBody(limit: number, share: string | undefined): Promise<Uint8Array | BodyRefusal>;
  /** Reports that the call is refused, and what is known about it. Called before `respond`. */
  refused(reason: RefusalReason, status: number, about?: AboutRefusal): void;
  /** Sends the complete response. */
  respond(status: number, headers: HttpHeaders, body?: HttpBody): void;
  /** Begins a streamed response. */
  stream(status: number, headers: HttpHeaders): HttpStream;
}

/** Why a request is refused, or a response is cut off (`unread`). Any other mistake of the client is `malformed`. */
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
  | 'store_unavailable'
  | 'session_not_open'
  | 'unread'
  | 'body_size'
  | 'shutting_down'
  | 'malformed';

/** What is known about a refused request. Clients choose most of it: escape it before you show it. */
export interface AboutRefusal {
  /** The refused host or origin as the client sent it, at most 100 characters. */
  readonly value?: string | undefined;
  /** The authenticated caller. */
  readonly principal?: string | undefined;
  /** The method of the request, at most 100 characters. Undefined if the body was not read. */
  readonly method?: string | undefined;
  /** The tool that was called, at most 100 characters. */
  readonly tool?: string | undefined;
  /** The scopes that the caller lacks, or if that is not known, those that it needs. */
  readonly scopes?: readonly string[] | undefined;
}

/** A request that is refused. */
export interface HttpRefusal extends AboutRefusal {
  readonly reason: RefusalReason;
  /** The HTTP status. Undefined if a response that had begun is cut off. */
  readonly status: number | undefined;
  /** The remote address of the connection, if known: a client's or a proxy's. */
  readonly address?: string | undefined;
}

/** Why there is no body. */
export type BodyRefusal = 'too large' | 'no room' | 'consumed';

/** Text, or bytes in parts. */
export type HttpBody = string | readonly Uint8Array[];

/** Headers of an answer, by name. */
export type HttpHeaders = Readonly<Record<string, string>>;

/** A response that is written in parts. */
export interface HttpStream {
  /**
   * Returns false if the reader is slow. `ondrain` is called when it has caught up. The text is buffered in any case.
   */
  write(text: string): boolean;
  /** Ends the response after everything that was written. */
  end(): void;
  /** Closes the connection at once. */
  destroy(): void;
  /**
   * Changes the number of bytes that are kept for the reader in addition to the written text. A negative number
   * subtracts.
   */
  keep(bytes: number): void;
  /** From now on, disconnects a reader that reads nothing for this many milliseconds; 0 stops watching. */
  watch(timeout: number): void;
  /** Called when a slow reader has caught up. */
  ondrain: (() => void) | undefined;
  /** Called once, when the client has left or the stream was ended or destroyed. */
  onclose: (() => void) | undefined;
}
