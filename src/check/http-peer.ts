import { Lifetime } from '../base/lifetime.ts';
import { startTimer } from '../base/timer.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { parseJson } from '../jsonrpc/parse.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { EventSourceReader } from '../transport/http/client/event-source.ts';
import type { HttpReply, HttpSend } from '../transport/http/client/http.ts';
import { pooledHttp } from '../transport/http/client/pooled-http.ts';
import type { Marks } from './marks.ts';
import { isResponse, type Reply } from './reply.ts';
import { Skip } from './outcome.ts';
import { seconds } from './seconds.ts';

/** The largest body that is read, in bytes. */
const MAX_BODY = 16 * 1024 * 1024;
/** The longest event, in UTF-16 code units. */
const MAX_EVENT = 16 * 1024 * 1024;

/** How much of a stream is read, in bytes. */
const MAX_STREAM = 32 * 1024 * 1024;

/** Headers that replace the usual ones. Undefined removes one. Names in lower case. */
export type HeaderChanges = Readonly<Record<string, string | undefined>>;

/** An event of a stream. */
export interface SeenEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: string;
  /** The first of its messages. */
  readonly message: JsonObject | undefined;
  /** All of them: it may have a batch. */
  readonly messages: readonly JsonObject[];
  /** The number of the newest record when it had come. */
  readonly n: number;
}

/** The answer to an HTTP request. */
export interface HttpAnswer extends Reply {
  readonly status: number;
  header(name: string): string | undefined;
  readonly events: readonly SeenEvent[];
  /** The body, if it is no event stream. */
  readonly text: string;
  /** Whether the server ended the body. */
  readonly isWhole: boolean;
}

/** A request, and when to stop reading its answer. */
export interface HttpAsk {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Default: the endpoint of the peer. */
  readonly url?: URL | undefined;
  readonly headers: HeaderChanges;
  readonly body?: string | undefined;
  /** Whether enough of a stream was read. Default: after a response. */
  readonly isEnough?: ((event: SeenEvent, all: readonly SeenEvent[]) => boolean) | undefined;
  /** How long to wait, in milliseconds. Default: the peer's. A stream that is silent for so long is over. */
  readonly patience?: number | undefined;
}

export interface HttpPeerOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly authorizer: Authorizer | undefined;
  readonly marks: Marks;
  readonly patience: number;
  readonly signal: AbortSignal;
}

/** The HTTP endpoint of the server, asked with exactly the headers and the body that a probe wants. */
export class HttpPeer {
  readonly url: URL;
  readonly #options: HttpPeerOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #http: HttpSend;

  constructor(options: HttpPeerOptions) {
    this.#options = options;
    this.url = options.url;
    this.#headers = Object.fromEntries(
      Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    this.#http = pooledHttp({ wiretap: options.marks.probing, connectTimeout: options.patience });
  }

  get isLoopback(): boolean {
    return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(this.url.hostname);
  }

  /** Sends a request once. A connection that fails is an answer too: with the status 0. */
  async ask(asked: HttpAsk): Promise<HttpAnswer> {
    const { method, url = this.url, headers, body, isEnough, patience = this.#options.patience } = asked;
    const { marks, authorizer, signal } = this.#options;
    const lifetime = new Lifetime();
    const cancel = (): void => lifetime.abort(signal.reason as Error);
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    const timer = startTimer(patience, () => lifetime.abort(new TimeIsUp(patience)));
    const events: SeenEvent[] = [];
    let reply: HttpReply | undefined;
    let text = '';
    let isWhole = false;
    let failure: Error | undefined;
    try {
      const credentials = await authorizer?.headers({ method, url }, lifetime.signal);
      const all = defined({ ...this.#headers, ...credentials, ...headers });
      reply = await this.#http({ method, url, headers: all, body, cancellation: lifetime });
      if (isStream(reply)) isWhole = await readStream(reply, marks, events, isEnough ?? isAnswer);
      else {
        text = await reply.text(MAX_BODY);
        isWhole = true;
      }
    } catch (error) {
      signal.throwIfAborted();
      failure = error as Error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    }
    const messages = reply && isStream(reply) ? events.flatMap((event) => event.messages) : messagesIn(text);
    return {
      status: reply?.status ?? 0,
      header: (name) => reply?.header(name),
      events,
      text,
      messages,
      n: events.findLast(({ message }) => message && isResponse(message))?.n ?? marks.newest,
      failure: failure?.message,
      isWhole,
    };
  }

  close(): void {
    this.#http.close?.();
  }
}

/** @throws Skip if a connection could not even be opened or answered. */
export function answered(answer: HttpAnswer): HttpAnswer {
  if (answer.status === 0) throw new Skip(`the server did not answer: ${answer.failure ?? 'no status'}`);
  return answer;
}

class TimeIsUp extends Error {
  override readonly name = 'TimeIsUp';

  constructor(patience: number) {
    super(`nothing more came within ${seconds(patience)}`);
  }
}

function isStream(reply: HttpReply): boolean {
  return /^text\/event-stream\b/i.test(reply.header('content-type') ?? '');
}

function isAnswer({ message }: SeenEvent): boolean {
  return message !== undefined && isResponse(message);
}

/** Reads until enough has come, and leaves the rest. Returns whether the server ended the stream. */
async function readStream(
  reply: HttpReply,
  marks: Marks,
  events: SeenEvent[],
  isEnough: NonNullable<HttpAsk['isEnough']>,
): Promise<boolean> {
  let over = false;
  let size = 0;
  const reader = new EventSourceReader({
    maxEventLength: MAX_EVENT,
    onevent: ({ type, data, id }) => {
      if (over) return;
      const messages = messagesIn(data);
      const event: SeenEvent = { id, type, data, message: messages[0], messages, n: marks.newest };
      events.push(event);
      over = isEnough(event, events);
    },
  });
  for await (const chunk of reply.chunks()) {
    size += chunk.length;
    reader.feed(chunk);
    if (over || size > MAX_STREAM) return false;
  }
  return true;
}

/** The messages in a text, also those of a batch. */
function messagesIn(text: string): JsonObject[] {
  if (text === '') return [];
  try {
    return [parseJson(text)].flat().filter(isObject);
  } catch {
    return [];
  }
}

function defined(headers: HeaderChanges): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
