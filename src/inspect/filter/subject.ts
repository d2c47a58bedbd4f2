import type { RequestId } from '../../jsonrpc/message.ts';

/** What a filter looks at: a record, or a span. A record of a capture is one, once its size and text are added. */
export interface FilterSubject {
  /** Undefined for a span. */
  readonly layer?: string | undefined;
  readonly conn?: number | undefined;
  readonly dir?: string | undefined;
  readonly kind?: string | undefined;
  readonly id?: RequestId | undefined;
  /** For a response, the method of its request. */
  readonly method?: string | undefined;
  /** The name of the tool that is called. */
  readonly tool?: string | undefined;
  /** The state of the span. */
  readonly state?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
  /** How long the span took, in microseconds. */
  readonly dur?: number | undefined;
  /**
   * The bytes as text. It is called only if the filter needs it, and then once for each term. Undefined if there is no
   * text, or if it is too large to be searched.
   */
  readonly text?: (() => string | undefined) | undefined;
}
