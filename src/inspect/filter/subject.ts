import type { RequestId } from '../../jsonrpc/message.ts';
import { sizeOf } from '../range-size.ts';
import type { Span, SpanRecord } from '../spans/span.ts';

/** What a filter tests: a record or a span. */
export interface FilterSubject {
  /** Undefined for a span. */
  readonly layer?: string | undefined;
  readonly conn?: number | undefined;
  /** `app` for the frame of an app. For a bridge: the peer of the connection, `client` or `server`. */
  readonly side?: string | undefined;
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
  /** What the linter found in the record. */
  readonly findings?: readonly FilterFinding[] | undefined;
  /**
   * Returns the bytes as text. Called only if the filter needs them, once for each term. Undefined if there is no text,
   * or if it is too large to search.
   */
  readonly text?: (() => string | undefined) | undefined;
  /** What the text of a message stands for, if it need not be parsed for that. */
  readonly json?: object | undefined;
  /** For the messages of a batch: what the terms that test its text or its findings have found. */
  readonly tested?: Map<object, boolean> | undefined;
}

/** A finding as a filter sees it. */
export interface FilterFinding {
  /** The id of the rule. */
  readonly rule: string;
  readonly severity: string;
}

/** A record, or any object with its fields. */
interface AnyRecord extends SpanRecord {
  readonly range?: readonly number[];
}

/**
 * A record as a filter sees it.
 *
 * @param span the span that the record belongs to. It gives an answer the method and the tool of its request.
 * @param more what is not in the record itself.
 */
export function recordSubject(
  { layer, conn, dir, kind, id, method, range }: AnyRecord,
  span: Span | undefined,
  text: () => string | undefined,
  more: Pick<FilterSubject, 'findings' | 'side' | 'tested'> = {},
): FilterSubject {
  const { id: spanId, method: spanMethod, tool, state, dur } = span ? spanSubject(span) : {};
  // A notification that belongs to a call keeps its own method.
  return {
    layer,
    conn,
    dir,
    kind,
    id: kind === 'batch' ? spanId : id,
    method: method ?? spanMethod,
    tool,
    state,
    dur,
    size: range && sizeOf(range),
    text,
    ...more,
  };
}

/** A span as a filter sees it. One that is still open has no duration. */
export function spanSubject({ conn, dir, id, method, tool, state, start, end }: Span): FilterSubject {
  return { conn, dir, id, method, tool, state, dur: end === undefined ? undefined : end - start };
}
