import { printableLine } from '../../base/printable.ts';
import { hasMoreKeysAndValues } from '../../jsonrpc/bounds.ts';
import { jsonObjectIn } from '../../jsonrpc/json-in.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import type { HttpReply, HttpSend } from '../../transport/http/client/http.ts';

/** A request and its response, with secrets. */
export interface Exchange {
  readonly sender: 'client' | 'browser';
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  reply?: Reply;
  problem?: string;
  duration: number;
}

/** A response, as far as it matters for authorization. */
export interface Reply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  body?: string;
}

/** The headers of a response that matter for authorization. */
const HEADERS = [
  'cache-control',
  'content-type',
  'dpop-nonce',
  'location',
  'mcp-session-id',
  'pragma',
  'retry-after',
  'www-authenticate',
];

/** Sees the requests of a step. */
export class ExchangeLog {
  #exchanges: Exchange[] = [];

  /** The exchanges since the last call. */
  take(): readonly Exchange[] {
    const taken = this.#exchanges;
    this.#exchanges = [];
    return taken;
  }

  get all(): readonly Exchange[] {
    return this.#exchanges;
  }

  add(exchange: Exchange): void {
    this.#exchanges.push(exchange);
  }

  /** Sends requests with another function, and keeps them with their responses. */
  readonly observe =
    (send: HttpSend): HttpSend =>
    async (request) => {
      const { method, url, headers, body } = request;
      const exchange: Exchange = { sender: 'client', method, url: url.href, headers, body, duration: 0 };
      const start = performance.now();
      this.#exchanges.push(exchange);
      const end = (): void => {
        exchange.duration = Math.round(performance.now() - start);
      };
      const fail = (error: unknown): never => {
        end();
        exchange.problem = printableLine((error as Error).message);
        throw error;
      };
      const reply = await send(request).catch(fail);
      end();
      const found = HEADERS.flatMap((name) => {
        const value = reply.header(name);
        return value === undefined ? [] : [[name, value] as const];
      });
      const seen: Reply = { status: reply.status, headers: Object.fromEntries(found) };
      exchange.reply = seen;
      const observed: HttpReply = {
        status: reply.status,
        header: (name) => reply.header(name),
        text: async (limit) => {
          seen.body = await reply.text(limit).catch(fail);
          end();
          return seen.body;
        },
        chunks: () => seenChunks(reply, seen, fail),
        discard: () => reply.discard(),
      };
      return observed;
    };
}

/** The chunks of a body, which are kept as far as they are read. */
async function* seenChunks(reply: HttpReply, seen: Reply, fail: (error: unknown) => never): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of reply.chunks()) {
      seen.body = (seen.body ?? '') + decoder.decode(chunk, { stream: true });
      yield chunk;
    }
  } catch (error) {
    fail(error);
  }
}

/** A body with more keys and values counts as no JSON, as in `GuardedHttp`. */
const MAX_MEMBERS = 50_000;
/** What was parsed. Several checks read the same response, and a large one takes long. */
const parsed = new WeakMap<Reply, { readonly body: string; readonly value: JsonObject | undefined }>();

/** The JSON object in a response. Undefined if there is none. */
export function objectIn(reply: Reply | undefined): JsonObject | undefined {
  if (!reply) return undefined;
  const { body = '' } = reply;
  const known = parsed.get(reply);
  if (known?.body === body) return known.value;
  const value = hasMoreKeysAndValues(body, MAX_MEMBERS) ? undefined : jsonObjectIn(body);
  parsed.set(reply, { body, value });
  return value;
}
