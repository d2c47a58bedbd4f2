import { jsonObjectIn } from '../jsonrpc/json-in.ts';
import { isObject, isRequestId, type RequestId } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';
import type { RecordedPart } from './recorded-wire.ts';

/** A row of the exported page. */
export interface PageRow {
  readonly part: RecordedPart;
  readonly kind: 'request' | 'notification' | 'result' | 'error' | 'message' | 'head' | 'stderr';
  /** The method, also for the response to a request. For an error, with its code and message. */
  readonly title: string;
  /** The tool, prompt or resource that a request names. */
  readonly name?: string | undefined;
}

/** The rows of the exported page, and the name of the server. Nothing is masked or escaped. */
export class PageRows {
  /** The title of the server's program, or its name. Undefined if no server said it. */
  serverName: string | undefined;
  readonly #rows: readonly PageRow[];
  /** The methods of requests, by connection, sender and id. */
  readonly #methods = new Map<string, string>();

  constructor(parts: readonly RecordedPart[]) {
    this.#rows = parts.map((part) => this.#row(part));
  }

  map<Value>(change: (row: PageRow) => Value): Value[] {
    return this.#rows.map(change);
  }

  #row(part: RecordedPart): PageRow {
    const { kind, text, title } = part;
    if (kind === 'head') return { part, kind, title };
    if (kind === 'stderr') return { part, kind, title: text.split('\n', 1)[0]! };
    const message = jsonObjectIn(text);
    if (!message) return { part, kind, title };
    const { id, method, params, result, error } = message;
    if (typeof method === 'string') {
      if (isRequestId(id)) this.#methods.set(keyOf(part, part.from, id), method);
      const name: unknown = isObject(params) ? (params['name'] ?? params['uri']) : undefined;
      const isName = typeof name === 'string';
      return {
        part,
        kind: id === undefined ? 'notification' : 'request',
        title: method,
        name: isName ? name : undefined,
      };
    }
    if (part.from === 'server') this.serverName ??= nameIn(result);
    const asker = part.from === 'server' ? 'client' : 'server';
    // Anything else is no id, and may be too deep to be written.
    const asked = isRequestId(id) ? this.#methods.get(keyOf(part, asker, id)) : undefined;
    if (!isObject(error)) return { part, kind: 'result', title: asked ?? 'result' };
    const words = [asked, error['code'], error['message']];
    const said = words.filter((each) => typeof each === 'string' || typeof each === 'number');
    return { part, kind: 'error', title: said.join(' ') || 'error' };
  }
}

function keyOf({ conn }: RecordedPart, from: string, id: RequestId): string {
  return JSON.stringify([conn, from, id]);
}

/** What a result says about the server. In 2026-07-28, each result may. */
function nameIn(result: unknown): string | undefined {
  if (!isObject(result)) return undefined;
  const meta: unknown = result['_meta'];
  const info: unknown = (isObject(meta) ? meta[Meta.ServerInfo] : undefined) ?? result['serverInfo'];
  if (!isObject(info)) return undefined;
  return [info['title'], info['name']].find((each): each is string => typeof each === 'string' && each !== '');
}
