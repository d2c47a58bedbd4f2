import type { Span } from '../../src/inspect/spans/span.ts';
import type { RequestId } from '../../src/jsonrpc/message.ts';
import type { RecordStore } from './record-store.ts';
import { sizeOf, type WireRecord } from './wire-record.ts';

/** How much text of requests is read to find the other side of calls. Bytes. */
const MAX_READ = 4 * 1024 * 1024;

/** The message of a record: itself, or the one in its bytes. */
export function messageOf(record: WireRecord, store: RecordStore): WireRecord | undefined {
  const { n, layer, conn, dir, range } = record;
  if (layer === 'message') return record;
  if (!range || !['frame', 'line', 'body', 'chunk'].includes(layer)) return undefined;
  const isInside = (each: WireRecord | undefined): boolean =>
    each?.layer === 'message' &&
    each.conn === conn &&
    each.dir === dir &&
    each.range![0]! >= range[0]! &&
    each.range!.at(-1)! <= range.at(-1)!;
  // The message of a frame or a line is recorded just before it or after it.
  if (layer === 'frame' || layer === 'line') return [store.find(n - 1), store.find(n + 1)].find(isInside);
  return store.records.find(isInside);
}

/** An HTTP request with its answer. */
export interface Exchange {
  readonly conn: number;
  readonly number: number;
  readonly records: readonly WireRecord[];
}

/** The HTTP exchanges that a record belongs to: its own, then others of its spans, such as repeated requests. */
export function exchangesOf(record: WireRecord, store: RecordStore): readonly Exchange[] {
  const { spans, conn, exchange } = record;
  const keys = new Set<string>();
  if (exchange !== undefined) keys.add(`${conn} ${exchange}`);
  for (const n of spans.flatMap(({ records }) => records)) {
    const each = store.find(n);
    if (each?.exchange !== undefined) keys.add(`${each.conn} ${each.exchange}`);
  }
  const found = new Map([...keys].map((key) => [key, [] as WireRecord[]]));
  for (const each of store.records) {
    if (each.exchange !== undefined) found.get(`${each.conn} ${each.exchange}`)?.push(each);
  }
  return [...found].map(([key, records]) => {
    const [on = 0, number = 0] = key.split(' ').map(Number);
    return { conn: on, number, records };
  });
}

/**
 * The same call on the other side of a bridge. Only if it is certain: it has the same method and parameters, it ran
 * while the first ran, and no other call of either side could be meant.
 *
 * @param requests of the store. Several calls may share them.
 */
export function otherSideOf(span: Span, store: RecordStore, requests = new Requests(store)): Span | undefined {
  const roleOf = ({ conn }: Span): string | undefined => store.openOf(conn)?.role;
  if (roleOf(span) === undefined || !store.hasBothSides) return undefined;
  const { method, dir, tool } = span;
  const spans = [...store.spans.all()].filter(
    (each) => each.method === method && each.dir === dir && each.tool === tool,
  );
  const identity = requests.identityOf(span);
  if (identity === undefined) return undefined;
  const candidates = (one: Span): Span[] =>
    spans.filter(
      (each) => roleOf(each) !== roleOf(one) && isDuring(one, each) && requests.identityOf(each) === identity,
    );
  const [other, ...more] = candidates(span);
  const isOnly = other && more.length === 0 && candidates(other).length === 1;
  return isOnly && !requests.wereTooLarge ? other : undefined;
}

/** Whether one of two calls ran completely while the other ran. */
function isDuring(a: Span, b: Span): boolean {
  const [outer, inner] = a.start <= b.start ? [a, b] : [b, a];
  return (inner.end ?? Infinity) <= (outer.end ?? Infinity);
}

interface Request {
  readonly id: RequestId;
  readonly params?: object;
}

/** The requests of calls, as far as reading them takes little time. */
export class Requests {
  readonly #store: RecordStore;
  #room = MAX_READ;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** Whether some were not read. */
  get wereTooLarge(): boolean {
    return this.#room < 0;
  }

  /** The parameters of a call, without `_meta`, which each side has its own. Undefined if they are not known. */
  identityOf({ id, records: [n = 0] }: Span): string | undefined {
    const record = this.#store.find(n);
    if (!record || this.wereTooLarge) return undefined;
    this.#room -= sizeOf(record.range ?? []);
    const text = this.wereTooLarge ? undefined : this.#store.text(record);
    if (text === undefined) return undefined;
    try {
      const messages = [JSON.parse(text) as Request | readonly Request[]].flat();
      const { params } = messages.find((each) => messages.length === 1 || each.id === id)!;
      return JSON.stringify({ ...params, _meta: undefined });
    } catch {
      return undefined;
    }
  }
}
