import type { Attempt } from '../inspect/page-server/page-api.ts';
import type { PartRecord, WireRecord } from '../inspect/record.ts';
import { printableLine } from '../base/printable.ts';
import { cutText } from '../base/short-text.ts';
import { jsonObjectIn } from '../jsonrpc/json-in.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Meta, Method } from '../protocol/methods.ts';
import { StreamBytes } from './stream-bytes.ts';

/** The most attempts that are kept. Negotiation needs five, a login some more. */
const MAX_ATTEMPTS = 50;
/** How many bytes of each stream are kept until its parts are complete. Longer messages are not read. */
const MAX_KEPT = 256 * 1024;
/** The longest quote of a server's text, in UTF-16 code units. */
const MAX_QUOTED = 500;

type MutableAttempt = { -readonly [Field in keyof Attempt]: Attempt[Field] } & {
  /** In microseconds. */
  readonly started: number;
  /** Whether the answer is a stream that stays open. */
  readonly isStream?: boolean;
  readonly isHandshake?: boolean;
};

/** Lists the steps of connecting and how each ended, from the records of the connections. */
export class AttemptLog {
  readonly #all: MutableAttempt[] = [];
  /** The attempts without an answer, by connection, and by exchange or by the id of the request. */
  readonly #open = new Map<string, MutableAttempt>();
  readonly #bytes = new Map<string, StreamBytes>();
  #noise: string | undefined;
  #metadata: string | undefined;
  #isSse = false;

  get attempts(): readonly Attempt[] {
    return this.#all.map(({ what, outcome, detail, duration, record }) => ({
      what,
      outcome,
      detail,
      duration,
      record,
    }));
  }

  /** The first line of stdout that is not a JSON object. */
  get noise(): string | undefined {
    return this.#noise;
  }

  /** The URL at which, by the newest refusal, the server says how to log in (`resource_metadata`). */
  get metadata(): string | undefined {
    return this.#metadata;
  }

  /** Whether the newest handshake got status 202, so its answer comes on another stream. Only HTTP+SSE does this. */
  get isSse(): boolean {
    return this.#isSse;
  }

  /** @returns whether the attempts changed. */
  add(record: WireRecord): boolean {
    if (record.layer === 'gap' || record.layer === 'open') return false;
    if (record.layer === 'close') return this.#closed(record.conn, record.t);
    const { conn, dir, layer } = record;
    const stream = `${conn} ${dir}`;
    if (layer === 'bytes') {
      let bytes = this.#bytes.get(stream);
      if (!bytes) this.#bytes.set(stream, (bytes = new StreamBytes(MAX_KEPT)));
      bytes.push(record);
      return false;
    }
    const text = (): string => this.#bytes.get(stream)?.text(record.range) ?? '';
    if (layer === 'head') return dir === 'c>s' ? this.#sent(record, text()) : this.#answered(record, text());
    if (layer === 'message') return dir === 'c>s' ? this.#named(record, text()) : this.#ended(record, text());
    if (layer === 'line' && dir === 's>c') this.#line(text());
    return false;
  }

  /**
   * Connecting is over. Attempts without an answer have failed. If there is a connection, they were not needed, and are
   * removed.
   */
  end(connected: boolean): void {
    for (const open of this.#open.values()) {
      if (open.outcome !== 'running') continue;
      if (connected) this.#all.splice(this.#all.indexOf(open), 1);
      else settle(open, 'failed', 'no answer');
    }
    this.#open.clear();
  }

  #begin(key: string, attempt: MutableAttempt): boolean {
    if (this.#all.length >= MAX_ATTEMPTS) return false;
    this.#all.push(attempt);
    this.#open.set(key, attempt);
    return true;
  }

  #sent({ n, t, conn, exchange }: PartRecord, head: string): boolean {
    const [method = ''] = head.split(' ', 1);
    return this.#begin(`${conn} ${exchange}`, {
      what: method,
      outcome: 'running',
      record: n,
      started: t,
      isStream: method === 'GET',
    });
  }

  /** Adds the method and the revision in a message to the name of its attempt. */
  #named({ n, t, conn, exchange, kind, id, method }: PartRecord, text: string): boolean {
    if (kind !== 'request' && kind !== 'notification') return false;
    const revision = revisionIn(jsonObjectIn(text) ?? {});
    const what = `${method ?? 'a request'}${revision === undefined ? '' : `, ${revision}`}`;
    const isHandshake = method === Method.Initialize;
    if (exchange === undefined)
      return kind === 'request' && this.#begin(`${conn} ${id}`, { what, outcome: 'running', record: n, started: t });
    const open = this.#open.get(`${conn} ${exchange}`);
    if (!open) return false;
    open.what = `${open.what} ${what}`;
    if (isHandshake) this.#open.set(`${conn} ${exchange}`, Object.assign(open, { isHandshake }));
    return true;
  }

  #answered({ t, conn, exchange }: PartRecord, head: string): boolean {
    const key = `${conn} ${exchange}`;
    const open = this.#open.get(key);
    const [, status = '', reason = ''] = /^HTTP\/1\.\d (\d{3}) ?([^\r\n]*)/.exec(head) ?? [];
    if (!open || status.startsWith('1')) return false;
    if (open.isHandshake) this.#isSse = status === '202';
    const ok = status.startsWith('2');
    const [, metadata] = /^www-authenticate:.*\bresource_metadata="([^"]*)"/im.exec(head) ?? [];
    if (metadata !== undefined) this.#metadata = quoted(metadata);
    // If a message follows, it decides how the attempt ended.
    const isOver = !ok || open.isStream || status === '202';
    if (!isOver) return false;
    settle(open, ok ? 'done' : 'failed', `${status} ${quoted(reason)}`.trim(), t);
    return true;
  }

  #ended({ t, conn, exchange, kind, id }: PartRecord, text: string): boolean {
    if (kind !== 'result' && kind !== 'error') return false;
    const key = `${conn} ${exchange ?? id}`;
    const open = this.#open.get(key);
    if (!open || (open.isStream && exchange !== undefined)) return false;
    this.#open.delete(key);
    const error: unknown = jsonObjectIn(text)?.['error'];
    const why = isObject(error) ? quoted(reasonIn(error)) : undefined;
    const detail = [open.detail, why].filter((each) => each !== undefined).join(': ');
    settle(open, kind === 'error' ? 'failed' : open.outcome === 'failed' ? 'failed' : 'done', detail || undefined, t);
    return true;
  }

  #closed(conn: number, t: number): boolean {
    for (const [key, open] of this.#open) {
      if (!key.startsWith(`${conn} `)) continue;
      this.#open.delete(key);
      if (open.outcome === 'running') settle(open, 'failed', 'the connection ended without an answer', t);
    }
    for (const dir of ['c>s', 's>c', 'stderr']) this.#bytes.delete(`${conn} ${dir}`);
    return true;
  }

  #line(line: string): void {
    const text = line.trim();
    if (this.#noise !== undefined || text === '' || Object.keys(jsonObjectIn(text) ?? {}).length > 0) return;
    this.#noise = quoted(text);
  }
}

function settle(attempt: MutableAttempt, outcome: 'done' | 'failed', detail: string | undefined, t?: number): void {
  attempt.outcome = outcome;
  attempt.detail = detail;
  if (t !== undefined) attempt.duration = (t - attempt.started) / 1000;
}

/** The message and the code of an error. A server may send anything as either. */
function reasonIn({ message, code }: JsonObject): string {
  const words = typeof message === 'string' ? message : 'no message';
  return typeof code === 'number' ? `${words} (${code})` : words;
}

function quoted(text: string): string {
  return printableLine(cutText(text, MAX_QUOTED));
}

/** The revision that a request names, if any. */
function revisionIn({ params }: JsonObject): string | undefined {
  if (!isObject(params)) return undefined;
  const { protocolVersion, _meta: meta } = params;
  const named: unknown = isObject(meta) ? (meta[Meta.ProtocolVersion] ?? protocolVersion) : protocolVersion;
  return typeof named === 'string' ? quoted(named) : undefined;
}
