import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import type { RecordStore } from './record-store.ts';
import { sizeText } from './format.ts';
import { maskedHead } from './masked-head.ts';
import { sizeOf, type WireRecord } from './wire-record.ts';

/** The text of a record's row. */
export interface Summary {
  /** The kind of a message, else the layer. */
  readonly kind: string;
  readonly what: string;
  /** The tool, prompt or resource that a request names. */
  readonly name?: string | undefined;
}

/** The most bytes that are read for a row. */
const HEAD = 2048;
/** The most bytes of a message that is parsed for a row. */
const MAX_PARSED = 16 * 1024;
const summaries = new WeakMap<WireRecord, Summary>();

/** The summary of a record. */
export function summaryOf(record: WireRecord, store: RecordStore): Summary {
  let summary = summaries.get(record);
  if (!summary) summaries.set(record, (summary = summarize(record, store)));
  return summary;
}

function summarize(record: WireRecord, store: RecordStore): Summary {
  const { layer, n, from = n, range = [], note, protocol, peer, role, purpose, kind = layer } = record;
  if (layer === 'message') return { kind, ...messageSummary(record, store) };
  if (layer === 'gap') return { kind, what: `${n - from + 1} records are missing` };
  if (layer === 'open') {
    const side = protocol === 'app' ? '' : ROLES[role ?? ''];
    return { kind, what: [protocol, side, peer, purpose].filter(Boolean).join(' ') };
  }
  if (layer === 'close') return { kind, what: 'closed' };
  const text = store.head(record, HEAD);
  const what = firstLine(layer === 'head' || layer === 'bytes' ? maskedHead(text) : text);
  const isSize = layer === 'body' || layer === 'chunk' || (layer === 'bytes' && store.isAuthorization(record));
  const start = isSize ? sizeText(sizeOf(range)) : what;
  return { kind, what: note === undefined ? start : `${note}: ${start}` };
}

/** Which side of a connection the recording process was. */
export const ROLES: Readonly<Record<string, string>> = { client: 'to the server', server: 'from the client' };

function firstLine(text: string): string {
  const end = text.search(/[\r\n]/);
  return end > 0 ? text.slice(0, end) : text.trim();
}

function messageSummary(record: WireRecord, store: RecordStore): Omit<Summary, 'kind'> {
  const {
    spans,
    kind,
    method = kind === 'notification' ? undefined : allOf(spans.map((span) => span.method)),
  } = record;
  const tool = allOf(spans.map((span) => span.tool));
  const content = parsed(record, store);
  const { params, error } = content;
  if (kind === 'error' && isObject(error))
    return { what: `${method ?? ''} ${textOf(error['code'])} ${textOf(error['message'])}`.trim() };
  const fields = isObject(params) ? params : {};
  const name = [fields['name'], fields['uri'], tool].find((each) => typeof each === 'string');
  const isRequest = kind === 'request' || kind === 'notification';
  return { what: method ?? firstLine(store.head(record, 200)), name: isRequest ? name : tool };
}

/** The different texts, because a batch can have several methods and tools. Undefined if there are none. */
function allOf(texts: readonly (string | undefined)[]): string | undefined {
  const all = new Set(texts.filter((text) => text !== undefined));
  return all.size === 0 ? undefined : [...all].slice(0, 10).join(', ');
}

function parsed(record: WireRecord, store: RecordStore): JsonObject {
  if (sizeOf(record.range!) > MAX_PARSED) return {};
  try {
    const value: unknown = JSON.parse(store.text(record) ?? '');
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
