import type { RequestId } from '../../jsonrpc/message.ts';
import type { Span, SpanRecord } from '../spans/span.ts';

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

/** A record, or any object with its fields. */
interface AnyRecord extends SpanRecord {
  readonly range?: readonly number[];
}

/**
 * A record as a filter sees it.
 *
 * @param span the span that it belongs to: its answer has the method and the tool of the request.
 */
export function recordSubject(
  { layer, conn, dir, kind, id, method, range }: AnyRecord,
  span: Span | undefined,
  text: () => string | undefined,
): FilterSubject {
  const { method: spanMethod, tool, state, dur } = span ? spanSubject(span) : {};
  // A notification that belongs to a call keeps its own method.
  return {
    layer,
    conn,
    dir,
    kind,
    id,
    method: method ?? spanMethod,
    tool,
    state,
    dur,
    size: range && sizeOf(range),
    text,
  };
}

/** A span as a filter sees it. One that is still open has no duration. */
export function spanSubject({ conn, dir, id, method, tool, state, start, end }: Span): FilterSubject {
  return { conn, dir, id, method, tool, state, dur: end === undefined ? undefined : end - start };
}

function sizeOf(range: readonly number[]): number {
  let size = 0;
  for (let at = 1; at < range.length; at += 2) size += range[at]! - range[at - 1]!;
  return size;
}
