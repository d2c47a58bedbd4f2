import type { JsonObject } from '../jsonrpc/message.ts';
import type { Exchange } from '../core/exchange.ts';
import { Notice } from '../protocol/methods.ts';
import { TAKEN } from '../transport/transport.ts';

/** This many notifications of an exchange may be on their way before the next are held back. */
const MAX_ON_THE_WAY = 32;
/** This many may be held back before the oldest are dropped. */
const MAX_WAITING = 1000;
/** The same in characters of JSON, about. */
const MAX_SIZE = 10 * 1024 * 1024;

interface Waiting {
  readonly method: string;
  readonly params: JsonObject;
  readonly size: number;
}

/** Those of which the newest says all that the older ones did. */
const CHANGES: ReadonlySet<string> = new Set([
  Notice.ToolsListChanged,
  Notice.PromptsListChanged,
  Notice.ResourcesListChanged,
  Notice.ResourceUpdated,
]);

/**
 * What a server says to one exchange, in order. A server cannot be held back, so where the reader is slow, this is where
 * it ends: of progress and of each change only the newest waits; of the rest the oldest is dropped where too much
 * waits, log messages before others, and that is reported once.
 */
export class NoticeQueue {
  readonly #exchange: Exchange;
  readonly #onerror: (error: Error) => void;
  #onTheWay = 0;
  /** By what may take the place of what; made when something has to wait. */
  #waiting: Map<unknown, Waiting> | undefined;
  #size = 0;
  /** Something was dropped since the queue last ran empty. */
  #dropped = false;

  constructor(exchange: Exchange, onerror: (error: Error) => void) {
    this.#exchange = exchange;
    this.#onerror = onerror;
  }

  push(method: string, params: JsonObject): void {
    if (this.#onTheWay < MAX_ON_THE_WAY && !this.#waiting) return this.#send(method, params);
    const waiting = (this.#waiting ??= new Map());
    const key = keyOf(method, params);
    const size = sizeOf(params);
    this.#size += size - (waiting.get(key)?.size ?? 0);
    waiting.set(key, { method, params, size });
    if (waiting.size > MAX_WAITING || this.#size > MAX_SIZE) this.#drop(waiting);
  }

  /** Sends what waits, whatever is on its way: the exchange is about to end, and nothing may follow its result. */
  flush(): void {
    for (const { method, params } of this.take()) this.#send(method, params);
  }

  /** Takes out what waits. */
  take(): Waiting[] {
    const waiting = [...(this.#waiting?.values() ?? [])];
    this.#waiting = undefined;
    this.#size = 0;
    return waiting;
  }

  #send(method: string, params: JsonObject): void {
    const sent = this.#exchange.notify(method, params);
    if (sent === TAKEN) return;
    this.#onTheWay += 1;
    // Where it is lost, the side that made the exchange says so.
    const done = (): void => this.#next();
    sent.then(done, done);
  }

  #next(): void {
    this.#onTheWay -= 1;
    while (this.#waiting && this.#onTheWay < MAX_ON_THE_WAY) {
      const [first] = this.#waiting;
      if (!first) {
        this.#waiting = undefined;
        this.#dropped = false;
        return;
      }
      const [key, { method, params, size }] = first;
      this.#waiting.delete(key);
      this.#size -= size;
      this.#send(method, params);
    }
  }

  #drop(waiting: Map<unknown, Waiting>): void {
    do {
      const oldest = droppable(waiting);
      // Changes alone: there are no more of them than there are lists and subscriptions.
      if (!oldest) return;
      const [key, { size }] = oldest;
      waiting.delete(key);
      this.#size -= size;
      if (!this.#dropped) {
        this.#dropped = true;
        this.#onerror(
          new Error(
            `The reader is slow: of more than ${MAX_WAITING} notifications, or ${MAX_SIZE} characters, that wait for it the oldest are dropped`,
          ),
        );
      }
    } while (waiting.size > MAX_WAITING || this.#size > MAX_SIZE);
  }
}

/** The oldest log message; where there is none, the oldest that nobody here knows. */
function droppable(waiting: Map<unknown, Waiting>): [unknown, Waiting] | undefined {
  let unknown: [unknown, Waiting] | undefined;
  for (const entry of waiting) {
    const { method } = entry[1];
    if (method === Notice.Message) return entry;
    if (!unknown && !CHANGES.has(method) && method !== Notice.Progress) unknown = entry;
  }
  return unknown;
}

/** About how many characters it has as JSON, without writing it. Not recursive: it may be nested very deeply. */
function sizeOf(params: JsonObject): number {
  const values: unknown[] = [params];
  let size = 0;
  while (values.length > 0) {
    const value = values.pop();
    size += typeof value === 'string' ? value.length : 8;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      size += key.length;
      values.push(inner);
    }
  }
  return size;
}

/** What waits under the same key gives way to what comes later. */
function keyOf(method: string, params: JsonObject): unknown {
  // A call has one progress token, a session one for each of its tasks.
  if (method === Notice.Progress) return `${method} ${typeof params['progressToken']} ${params['progressToken']}`;
  if (method === Notice.ResourceUpdated) return `${method} ${params['uri']}`;
  return CHANGES.has(method) ? method : Symbol();
}
