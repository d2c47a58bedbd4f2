import type { JsonObject } from '../jsonrpc/message.ts';
import { isResponse, type Reply } from './reply.ts';
import {
  heartbeatOf,
  initializeParams,
  isModern,
  requestOf,
  resultOf,
  RawSession,
  type RequestChanges,
  type SessionOptions,
} from './session.ts';
import { seconds } from './seconds.ts';
import type { StdioChild } from './stdio-child.ts';

/** How much longer the first answer of a started command may take. Milliseconds. */
const STARTING = 15_000;

/** A conversation over stdio. */
export class StdioSession extends RawSession {
  readonly child: StdioChild;
  readonly #options: SessionOptions;

  constructor(child: StdioChild, options: SessionOptions) {
    super(options.revision);
    this.child = child;
    this.#options = options;
  }

  /** @throws Skip if the server refuses. */
  async open(): Promise<this> {
    if (isModern(this.revision)) return this;
    const reply = await this.call('initialize', initializeParams(this.revision));
    this.opened = resultOf(reply, 'initialize');
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return this;
  }

  /** @returns the number of its record. */
  send(message: unknown): number {
    return this.child.write(`${JSON.stringify(message)}\n`);
  }

  async call(method: string, params?: JsonObject, changes: RequestChanges = {}): Promise<Reply> {
    const { id = this.nextId(), meta, patience } = changes;
    const sent = this.send(requestOf(this.revision, id, method, params, meta));
    return this.answerTo(id, patience, sent);
  }

  /** Waits for the response with this id. @param sent the number of the record of the request. */
  async answerTo(id: unknown, given = this.#options.patience, sent = 0): Promise<Reply> {
    // A command such as `npx` takes longer to start than to answer.
    const patience = this.child.seen.length === 0 ? given + STARTING : given;
    const seen = await this.child.find(
      (message) => message['id'] === id && message['method'] === undefined,
      patience,
      this.#options.signal,
    );
    if (seen) return { messages: [seen.message], n: seen.n };
    const failure = this.child.hasExited ? 'the server exited' : `nothing came within ${seconds(patience)}`;
    return { messages: [], n: sent, failure };
  }

  async say(text: string): Promise<Reply> {
    const before = this.child.seen.length;
    const sent = this.child.write(`${text}\n`);
    // An answer that takes some turns of an event loop may come after that of the first request.
    const ids = [this.nextId(), this.nextId()];
    let later: Reply = { messages: [], n: 0 };
    for (const id of ids) {
      this.send(requestOf(this.revision, id, heartbeatOf(this.revision)));
      later = await this.answerTo(id);
      if (later.failure !== undefined) break;
    }
    const since = this.child.seen.slice(before).filter(({ message }) => !ids.includes(message['id'] as string));
    return {
      messages: since.map(({ message }) => message),
      // Without a response, what was sent shows it. Other messages of the server do not belong to it.
      n: since.findLast(({ message }) => isResponse(message))?.n ?? sent,
      failure: later.failure,
    };
  }
}
