import { effect, signal, untracked, type ReadonlySignal } from '@preact/signals';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { isLogLevel, type LogLevel } from '../../src/protocol/logging.ts';
import { NotificationMethod } from '../../src/protocol/methods.ts';
import { firstFrom, type RecordStore } from '../wire/record-store.ts';
import type { WireRecord } from '../wire/wire-record.ts';

/** The most log messages that are kept, and the longest, in characters. */
const MAX_MESSAGES = 2000;
const MAX_DATA = 10_000;
/** The most resources whose changes are remembered. */
const MAX_UPDATES = 1000;

/** A log message of the server. */
export interface LogMessage {
  /** The number of its record. */
  readonly n: number;
  readonly time: Date;
  readonly level: LogLevel | undefined;
  readonly logger: string | undefined;
  /** The data as text. */
  readonly text: string;
}

/** Changes of one thing. */
export interface Changes {
  readonly count: number;
  /** The number of the newest record. */
  readonly n: number;
  readonly time: Date;
  /** When the page saw the newest, in milliseconds of `performance.now()`. */
  readonly seen: number;
}

/** What changed, and the record that says so. */
type Change = readonly [key: string, record: WireRecord];

/** The members of `Wire` that are needed here. */
interface Source {
  readonly store: Pick<RecordStore, 'records' | 'text' | 'find' | 'sideOf'>;
  readonly source: { readonly version: ReadonlySignal<number>; readonly started: ReadonlySignal<Date | undefined> };
}

const LIST_CHANGED: ReadonlySet<string | undefined> = new Set([
  NotificationMethod.ToolsListChanged,
  NotificationMethod.PromptsListChanged,
  NotificationMethod.ResourcesListChanged,
]);

/** The server's notifications, collected from the records of the wire. */
export class Notices {
  readonly #wire: Source;
  #seen = 0;
  readonly #messages = signal<readonly LogMessage[]>([]);
  readonly #updates = signal<ReadonlyMap<string, Changes>>(new Map());
  readonly #lists = signal<ReadonlyMap<string, Changes>>(new Map());
  /** The oldest first. */
  readonly messages: ReadonlySignal<readonly LogMessage[]> = this.#messages;
  /** By the URI of the resource. */
  readonly updates: ReadonlySignal<ReadonlyMap<string, Changes>> = this.#updates;
  /** By the method of the notification. */
  readonly lists: ReadonlySignal<ReadonlyMap<string, Changes>> = this.#lists;

  constructor(wire: Source) {
    this.#wire = wire;
    effect(() => {
      void wire.source.version.value;
      untracked(() => this.#read());
    });
  }

  clearMessages(): void {
    this.#messages.value = [];
  }

  #read(): void {
    const { records } = this.#wire.store;
    const messages: LogMessage[] = [];
    const updates: Change[] = [];
    const lists: Change[] = [];
    for (let at = firstFrom(records, this.#seen + 1); at < records.length; at += 1) {
      const record = records[at]!;
      this.#seen = record.n;
      const { layer, conn, dir, method } = record;
      if (layer !== 'message' || dir !== 's>c' || this.#wire.store.sideOf(conn) === 'app') continue;
      if (LIST_CHANGED.has(method)) lists.push([method!, record]);
      else if (method === NotificationMethod.Message) messages.push(this.#message(record));
      else if (method === NotificationMethod.ResourceUpdated) {
        const { uri } = this.#params(record);
        if (typeof uri === 'string') updates.push([uri, record]);
      }
    }
    if (messages.length > 0) this.#messages.value = [...this.#messages.value, ...messages].slice(-MAX_MESSAGES);
    if (updates.length > 0) this.#updates.value = this.#changed(this.#updates.value, updates);
    if (lists.length > 0) this.#lists.value = this.#changed(this.#lists.value, lists);
  }

  #message(record: WireRecord): LogMessage {
    const { level, logger, data } = this.#params(record);
    const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? 'This message is not in memory.');
    return {
      n: record.n,
      time: this.#timeOf(record),
      level: isLogLevel(level) ? level : undefined,
      logger: typeof logger === 'string' ? logger : undefined,
      text: text.slice(0, MAX_DATA),
    };
  }

  #changed(all: ReadonlyMap<string, Changes>, news: readonly Change[]): ReadonlyMap<string, Changes> {
    const changes = new Map(all);
    for (const [key, record] of news) {
      const count = (changes.get(key)?.count ?? 0) + 1;
      changes.delete(key);
      changes.set(key, { count, n: record.n, time: this.#timeOf(record), seen: performance.now() });
      const [oldest] = changes.keys();
      if (changes.size > MAX_UPDATES) changes.delete(oldest!);
    }
    return changes;
  }

  #params(record: WireRecord): JsonObject {
    try {
      const { params } = JSON.parse(this.#wire.store.text(record) ?? '{}') as JsonObject;
      return isObject(params) ? params : {};
    } catch {
      return {};
    }
  }

  #timeOf({ t }: WireRecord): Date {
    return new Date((this.#wire.source.started.value?.getTime() ?? 0) + t / 1000);
  }
}
