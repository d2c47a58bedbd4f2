import type { Span } from '../../src/inspect/spans/span.ts';
import { isObject, type RequestId } from '../../src/jsonrpc/message.ts';
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

/** The requests of calls, as far as reading them takes little time. Each record is read once. */
export class Requests {
  readonly #store: RecordStore;
  /** What was read: by the number of the record, the parameters of each request by its id. */
  readonly #read = new Map<number, ReadonlyMap<RequestId | undefined, string>>();
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
    let identities = this.#read.get(n);
    if (!identities) this.#read.set(n, (identities = this.#identitiesIn(n)));
    return identities.size === 1 ? [...identities.values()][0] : identities.get(id);
  }

  #identitiesIn(n: number): ReadonlyMap<RequestId | undefined, string> {
    const identities = new Map<RequestId | undefined, string>();
    const record = this.#store.find(n);
    if (!record || this.wereTooLarge) return identities;
    this.#room -= sizeOf(record.range ?? []);
    const text = this.wereTooLarge ? undefined : this.#store.text(record, MAX_READ);
    if (text === undefined) return identities;
    try {
      for (const message of [JSON.parse(text) as unknown].flat()) {
        if (!isObject(message)) continue;
        const { id, params } = message as { id?: RequestId; params?: object };
        if (!identities.has(id)) identities.set(id, JSON.stringify({ ...params, _meta: undefined }));
      }
    } catch {
      // Not JSON, or too deep to be compared.
    }
    return identities;
  }
}
