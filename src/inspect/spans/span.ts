import type { RequestId } from '../../jsonrpc/message.ts';

/**
 * - `open`: there is no answer yet.
 * - `input_required`: the server asked for input, and the request was not sent again yet (2026-07-28).
 * - `done`, `failed`: answered with a result or an error, or refused with an HTTP status.
 * - `cancelled`: the sender of the request no longer wants an answer.
 * - `unanswered`: the connection or the stream ended without an answer. An answer on another connection may still come.
 */
export type SpanState = 'open' | 'input_required' | 'done' | 'failed' | 'cancelled' | 'unanswered';

/** A request with everything that belongs to it. Times are in microseconds since the capture began. */
export interface Span {
  /** The first span is 1. */
  readonly number: number;
  /** The connection on which the request was sent. */
  readonly conn: number;
  /** For HTTP: which request of the connection. */
  readonly exchange?: number | undefined;
  readonly dir: string;
  readonly id: RequestId;
  readonly method?: string | undefined;
  /** The name of the tool that is called. */
  readonly tool?: string | undefined;
  readonly state: SpanState;
  readonly start: number;
  /** Undefined while it is open. */
  readonly end?: number | undefined;
  /** The number of the record with the last answer. */
  readonly answer?: number | undefined;
  /** The numbers of the records, the request first: repeated requests, progress, questions with their answers. */
  readonly records: readonly number[];
  /** How many further records belong to the span. */
  readonly omitted: number;
  /** For a question: the span of the call that it belongs to, if that is certain. */
  readonly parent?: Span | undefined;
}

/** The fields of a record that spans need. Every record of a capture has them. */
export interface SpanRecord {
  readonly n: number;
  readonly t: number;
  readonly layer: string;
  readonly conn?: number;
  readonly dir?: string;
  readonly exchange?: number;
  readonly protocol?: string;
  readonly role?: string;
  readonly kind?: string;
  readonly id?: RequestId;
  readonly method?: string;
}
