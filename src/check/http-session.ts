import { jsonObjectIn } from '../jsonrpc/json-in.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { encodeHeaderValue } from '../protocol/header-value.ts';
import { profileOf, type Revision } from '../protocol/revisions.ts';
import { NAMED } from '../wire/modern/translate/headers.ts';
import { answered, type HeaderChanges, type HttpAnswer, type HttpAsk, type HttpPeer } from './http-peer.ts';
import { isResponse } from './reply.ts';
import { initializeParams, isModern, requestOf, resultOf, RawSession, type RequestChanges } from './session.ts';

/** The headers of every POST. */
export const POST_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const;

/** A conversation over Streamable HTTP: a session, or from 2026-07-28 on, independent requests. */
export class HttpSession extends RawSession<HttpAnswer> {
  readonly peer: HttpPeer;
  /** Undefined if the server gave none. */
  id: string | undefined;

  constructor(peer: HttpPeer, revision: Revision) {
    super(revision);
    this.peer = peer;
  }

  /** @throws Skip if the server refuses. */
  async open(): Promise<this> {
    if (isModern(this.revision)) return this;
    const answer = answered(await this.call('initialize', initializeParams(this.revision)));
    this.opened = resultOf(answer, 'initialize');
    await this.notify('notifications/initialized');
    return this;
  }

  /** The headers of all requests of this session. */
  get headers(): Record<string, string> {
    const { revision, opened } = this;
    const namesRevision = isModern(revision) || (opened !== undefined && profileOf(revision)!.versionHeader);
    return {
      ...(this.id !== undefined && { 'mcp-session-id': this.id }),
      ...(namesRevision && { 'mcp-protocol-version': revision }),
    };
  }

  async call(method: string, params: JsonObject = {}, changes: RequestChanges = {}): Promise<HttpAnswer> {
    const { id = this.nextId(), headers, meta, patience } = changes;
    const message = requestOf(this.revision, id, method, params, meta);
    const answer = await this.post(
      JSON.stringify(message),
      { ...this.#repeated(method, params), ...headers },
      { patience, isEnough: ({ message: seen }) => seen?.['id'] === id && seen['method'] === undefined },
    );
    if (method === 'initialize') this.id ??= answer.header('mcp-session-id');
    return answer;
  }

  say(text: string, responses = 1): Promise<HttpAnswer> {
    return this.post(text, this.#repeatedIn(text), {
      isEnough: (_, all) =>
        all.flatMap(({ messages }) => messages).filter((each) => isResponse(each)).length >= responses,
    });
  }

  post(body: string, headers: HeaderChanges = {}, further: Partial<HttpAsk> = {}): Promise<HttpAnswer> {
    return this.peer.ask({
      method: 'POST',
      body,
      headers: { ...POST_HEADERS, ...this.headers, ...headers },
      ...further,
    });
  }

  /** Opens a stream with GET. */
  listen(headers: HeaderChanges = {}, further: Partial<HttpAsk> = {}): Promise<HttpAnswer> {
    return this.peer.ask({
      method: 'GET',
      headers: { accept: 'text/event-stream', ...this.headers, ...headers },
      ...further,
    });
  }

  /** Ends the session, if there is one (2025-11-25, transports: Session Management, 5). */
  async end(): Promise<HttpAnswer | undefined> {
    const { id, headers } = this;
    if (id === undefined) return undefined;
    this.id = undefined;
    return this.peer.ask({ method: 'DELETE', headers });
  }

  #repeatedIn(text: string): Record<string, string> {
    const { method, params } = jsonObjectIn(text) ?? {};
    return typeof method === 'string' ? this.#repeated(method, isObject(params) ? params : {}) : {};
  }

  /** What headers repeat of a request (2026-07-28, transports: Standard Request Headers). */
  #repeated(method: string, params: JsonObject): Record<string, string> {
    if (!isModern(this.revision)) return {};
    const key = Object.hasOwn(NAMED, method) ? NAMED[method]! : undefined;
    const name: unknown = key === undefined ? undefined : params[key];
    return { 'mcp-method': method, ...(typeof name === 'string' && { 'mcp-name': encodeHeaderValue(name) }) };
  }
}
