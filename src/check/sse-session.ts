import { peerUrl } from '../base/peer-url.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { profileOf } from '../protocol/revisions.ts';
import { News } from './news.ts';
import { POST_HEADERS } from './http-session.ts';
import type { HeaderChanges, HttpAnswer, HttpPeer, SeenEvent } from './http-peer.ts';
import { Skip } from './outcome.ts';
import { isResponse, shown, type Reply } from './reply.ts';
import { seconds } from './seconds.ts';
import {
  heartbeatOf,
  initializeParams,
  requestOf,
  resultOf,
  RawSession,
  type RequestChanges,
  type SessionOptions,
} from './session.ts';

/** How long the stream is read, in milliseconds. It is closed earlier, when its probe ends. */
const ALWAYS = 600_000;

/** A conversation over HTTP+SSE (2024-11-05, transports): a stream of events, and an endpoint for messages. */
export class SseSession extends RawSession {
  readonly peer: HttpPeer;
  readonly #options: SessionOptions;
  readonly #news = new News();
  readonly #events: SeenEvent[] = [];
  #answer: HttpAnswer | undefined;
  #endpoint: URL | undefined;
  #isLeft = false;

  constructor(peer: HttpPeer, options: SessionOptions) {
    super(options.revision);
    this.peer = peer;
    this.#options = options;
  }

  /** All events of the stream so far. */
  get events(): readonly SeenEvent[] {
    return this.#events;
  }

  /** Where messages are sent. */
  get endpoint(): URL {
    if (!this.#endpoint) throw new Skip('the stream named no endpoint');
    return this.#endpoint;
  }

  /**
   * Opens the stream, and waits for its endpoint. Returns the answer if the server refuses, or ends the stream before it
   * names one. @throws Skip if the stream stays open without one.
   */
  async listen(headers: HeaderChanges = {}): Promise<HttpAnswer | undefined> {
    const { patience, signal } = this.#options;
    const reading = this.peer.ask({
      method: 'GET',
      headers: { accept: 'text/event-stream', ...headers },
      patience: ALWAYS,
      isEnough: (event) => this.#take(event),
    });
    const ended = (answer: HttpAnswer | undefined): void => {
      this.#answer = answer;
      this.#news.wake();
    };
    // It rejects only if the probe is cancelled, and then the probe fails for that reason.
    reading.then(ended, () => ended(undefined));
    await this.#news.until(() => this.#endpoint !== undefined || this.#answer !== undefined, patience, signal);
    if (this.#endpoint) return undefined;
    if (this.#answer) return this.#answer;
    throw new Skip(`the stream named no endpoint within ${seconds(patience)}`);
  }

  /** Opens the stream, if it is not open. @throws Skip if the server refuses. */
  async connect(): Promise<this> {
    const refusal = this.#endpoint ? undefined : await this.listen();
    if (refusal) throw new Skip(`the stream was refused: ${shown(refusal)}`);
    return this;
  }

  /** @throws Skip if the server refuses. */
  async open(): Promise<this> {
    await this.connect();
    this.opened = resultOf(await this.call('initialize', initializeParams(this.revision)), 'initialize');
    await this.notify('notifications/initialized');
    return this;
  }

  /** Stops reading at the next event, and closes the connections that are not in use. */
  leave(): void {
    this.#isLeft = true;
    this.peer.close();
  }

  async call(method: string, params?: JsonObject, changes: RequestChanges = {}): Promise<Reply> {
    const { id = this.nextId(), headers, patience = this.#options.patience } = changes;
    const before = this.#events.length;
    const answer = await this.post(JSON.stringify(requestOf(this.revision, id, method, params)), headers);
    if (answer.status >= 400 || answer.status === 0) return answer;
    const isAnswer = ({ message }: SeenEvent): boolean => message?.['id'] === id && message['method'] === undefined;
    const find = (): SeenEvent | undefined => this.#events.slice(before).find(isAnswer);
    await this.#news.until(() => find() !== undefined || this.#answer !== undefined, patience, this.#options.signal);
    const event = find();
    if (event) return { messages: [event.message!], n: event.n };
    const why = this.#answer ? 'the stream ended' : `nothing came within ${seconds(patience)}`;
    return { messages: [], n: answer.n, failure: why };
  }

  async say(text: string): Promise<Reply> {
    const before = this.#events.length;
    const { status, messages, failure, n } = await this.post(text);
    // An answer that takes some turns of an event loop may come after that of the first request.
    const ids = [this.nextId(), this.nextId()];
    let later: Reply = { messages: [], n };
    for (const id of ids) {
      later = await this.call(heartbeatOf(this.revision), {}, { id });
      if (later.failure !== undefined) break;
    }
    const since = this.#events.slice(before).filter(({ message }) => !ids.includes(message?.['id'] as string));
    return {
      status: status >= 400 ? status : undefined,
      messages: [...messages, ...since.flatMap((event) => event.messages)],
      n: since.findLast(({ message }) => message !== undefined && isResponse(message))?.n ?? n,
      failure: failure ?? later.failure,
    };
  }

  /** Sends a body to the endpoint. */
  post(body: string, headers: HeaderChanges = {}, url = this.endpoint): Promise<HttpAnswer> {
    const named = this.opened !== undefined && profileOf(this.revision)!.versionHeader;
    const own = { ...POST_HEADERS, ...(named && { 'mcp-protocol-version': this.revision }) };
    return this.peer.ask({ method: 'POST', url, body, headers: { ...own, ...headers } });
  }

  /** @returns whether enough was read. */
  #take(event: SeenEvent): boolean {
    if (event.type === 'endpoint') this.#endpoint ??= endpointIn(event.data, this.peer.url);
    else this.#events.push(event);
    this.#news.wake();
    return this.#isLeft;
  }
}

/** The endpoint that an event names. Undefined at another origin, which must not get the credentials of this one. */
function endpointIn(data: string, base: URL): URL | undefined {
  const url = peerUrl(data, base);
  return url?.origin === base.origin ? url : undefined;
}
