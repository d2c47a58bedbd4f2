import { setMaxListeners } from 'node:events';
import { callOf } from './checkers.ts';
import type { Ended } from './history.ts';
import { StormClient, stepOf, waitOr, within, type ClientParts } from './storm-client.ts';
import {
  eventsOf,
  exchange,
  Lost,
  POST_HEADERS,
  processOf,
  Refused,
  send,
  type Headers,
  type JsonObject,
} from './wire.ts';

const CAPABILITIES = { elicitation: {}, sampling: {} };
/** How a call has ended, and the process that got it. */
interface CallEnd {
  readonly how: Ended['how'];
  readonly process: string;
}

/** How long to wait before a request is repeated. Milliseconds. */
const PAUSE = 300;

/** How a call is made. */
export interface CallOptions {
  readonly args?: JsonObject;
  /** Cuts the connection of the stream after this many events, and resumes the stream. */
  readonly cutAfter?: number | undefined;
  /** Cancels the call after this many milliseconds. */
  readonly cancelAfter?: number;
}

/** A client of a revision with sessions, which sees each byte and follows the specification itself. */
export class SessionClient extends StormClient {
  readonly #revision: string;
  /** Whether the lists of the servers of the storm are those of this client. */
  protected readonly hearsLists: boolean = true;
  #sessions = 0;
  /** The subject of the current session, and its headers. */
  #session = '';
  #headers: Headers = {};
  #isGone = false;
  /** The ids of the questions that this client was asked. */
  readonly #questions = new Set<unknown>();
  /** What the server has confirmed in this session. */
  #subscribed = false;
  #level: { readonly level: string; readonly since: number } | undefined;
  /** Whether a change of the level has failed, so that nobody knows which one holds. */
  #isLevelUnknown = false;

  constructor(parts: ClientParts, revision: string) {
    super(parts);
    this.#revision = revision;
  }

  async live(): Promise<void> {
    while (!this.isOver) {
      if (!(await this.#open())) {
        await this.rest(PAUSE, 3 * PAUSE);
        continue;
      }
      const ended = new AbortController();
      // Each GET listens to it for a while.
      setMaxListeners(0, ended.signal);
      const listening = this.#listen(this.#session, this.#headers, ended.signal);
      const uses = this.parts.random.between(5, 60);
      for (let use = 0; use < uses && !this.isOver && !this.#isGone; use += 1) {
        await this.use();
        await this.rest(10, 800);
      }
      if (this.#isGone) this.parts.left.count += 1;
      else await this.#delete();
      this.parts.open.delete(this.#session);
      ended.abort();
      await listening;
    }
  }

  async #open(): Promise<boolean> {
    const { name } = this.parts;
    const about = this.begin('initialize', true);
    const params = {
      protocolVersion: this.#revision,
      capabilities: CAPABILITIES,
      clientInfo: { name, version: '1' },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: about, method: 'initialize', params });
    let id: string | undefined;
    this.#isGone = false;
    this.#subscribed = false;
    this.#level = undefined;
    this.#isLevelUnknown = false;
    this.#headers = POST_HEADERS;
    const { how } = await this.#follow(
      about,
      body,
      {},
      (headers) => (id = headers['mcp-session-id'] as string | undefined),
    );
    if (id === undefined) return false;
    if (how !== 'result') {
      // If only the response was lost, the session is still in Redis.
      this.parts.left.count += 1;
      return false;
    }
    this.#session = `${name}@${(this.#sessions += 1)}`;
    this.write(this.#session, { what: 'opened' });
    const version: Headers = this.#revision >= '2025-06-18' ? { 'mcp-protocol-version': this.#revision } : {};
    this.#headers = { ...POST_HEADERS, 'mcp-session-id': id, ...version };
    await this.#post(this.#session, { method: 'notifications/initialized' });
    return true;
  }

  /** The subject of the current session. */
  protected get session(): string {
    return this.#session;
  }

  protected async use(): Promise<void> {
    const { random } = this.parts;
    const steps = random.between(2, 12);
    const ms = random.between(0, 400);
    const cutAfter = random.next() < 0.4 ? random.between(1, steps) : undefined;
    await random.weighted<() => Promise<unknown>>([
      [5, () => this.call('note')],
      [3, () => this.call('read')],
      [5, () => this.call('count', { args: { steps, ms }, cutAfter })],
      [2, () => this.call('log', { args: { steps, ms }, cutAfter })],
      [2, () => this.call('levels')],
      [2, () => this.call('slow', { args: { ms: random.between(500, 6000) }, cutAfter: cutAfter && 0 })],
      [2, () => this.call('slow', { args: { ms: 60_000 }, cancelAfter: ms })],
      [3, () => this.call('ask')],
      [3, () => this.call('ask-once')],
      [2, () => this.call('sample')],
      [2, () => this.#touch()],
      [0.1, () => this.#relist()],
      [1, () => this.#ask('tools/list', {})],
      [1, () => this.#setLevel(random.of(['debug', 'info', 'error']))],
      [1, () => this.#subscribe()],
      [2, () => Promise.all([this.call('count', { args: { steps, ms } }), this.call('ask')])],
    ])();
  }

  async #touch(): Promise<void> {
    const uri = `storm://${this.parts.name}`;
    const [since, subscribed] = [Date.now(), this.#subscribed];
    const { how, process } = await this.call('touch', { args: { uri } });
    if (subscribed && how === 'result') this.write(this.#session, { what: 'changed', thing: uri, since, process });
  }

  async #relist(): Promise<void> {
    const [since, open] = [Date.now(), new Set(this.parts.open)];
    const { how, process } = await this.call('relist');
    if (how === 'result') this.listChanged(open, since, process);
  }

  async #subscribe(): Promise<void> {
    const { how } = await this.#ask('resources/subscribe', { uri: `storm://${this.parts.name}` });
    if (how === 'result') this.#subscribed = true;
  }

  async #setLevel(level: string): Promise<void> {
    this.#level = undefined;
    const { how } = await this.#ask('logging/setLevel', { level });
    if (how !== 'result') this.#isLevelUnknown = true;
    this.#level = this.#isLevelUnknown ? undefined : { level, since: Date.now() };
  }

  protected call(tool: string, { args, ...options }: CallOptions = {}): Promise<CallEnd> {
    const about = this.begin(tool, true);
    if (tool === 'levels' && this.#level) this.write(about, { what: 'level', ...this.#level });
    const params = { name: tool, arguments: { call: about, ...args }, _meta: { progressToken: about } };
    return this.#follow(about, JSON.stringify({ jsonrpc: '2.0', id: about, method: 'tools/call', params }), options);
  }

  #ask(method: string, params: JsonObject): Promise<CallEnd> {
    const about = this.begin(method, true);
    return this.#follow(about, JSON.stringify({ jsonrpc: '2.0', id: about, method, params }), {});
  }

  /** Sends a request, and reads its streams until it has ended. Writes exactly how. */
  async #follow(
    about: string,
    body: string,
    { cutAfter, cancelAfter }: CallOptions,
    onheaders: (headers: JsonObject) => void = () => {},
  ): Promise<CallEnd> {
    const { url, bound } = this.parts;
    const headers = this.#headers;
    const late = AbortSignal.timeout(bound);
    const cancelled = new AbortController();
    let isCancelled = false;
    const cancel = async (after: number): Promise<void> => {
      await waitOr(after, this.parts.over);
      isCancelled = true;
      const since = Date.now();
      const status = await this.#post(about, { method: 'notifications/cancelled', params: { requestId: about } });
      if (status !== undefined) this.write(about, { what: 'cancelled', since, process: undefined, status });
      cancelled.abort();
    };
    const cancelling = cancelAfter === undefined ? undefined : cancel(cancelAfter);
    const signal = AbortSignal.any([late, cancelled.signal]);
    let process = '';
    const at = (name: string | undefined): void => {
      if (name === undefined) return;
      this.write(about, { what: 'at', process: name });
      if (isFirst) process = name;
    };
    let end: Ended['how'] = 'lost';
    const ended = (how: Ended['how'], text: string, notRun?: boolean): void => {
      end = how;
      if (isCancelled) this.end(about, 'cancelled', 'cancelled');
      else if (late.aborted) this.end(about, 'timeout', text);
      else this.end(about, how, text, notRun);
    };
    let last: string | undefined;
    let left = cutAfter;
    let isFirst = true;
    while (true) {
      try {
        const resuming: Headers = last === undefined ? {} : { 'last-event-id': last };
        const response = isFirst
          ? await send(url, 'POST', headers, body, signal)
          : await send(url, 'GET', { ...withoutType(headers), ...resuming }, undefined, signal);
        at(processOf(response));
        if (isFirst) onheaders(response.headers);
        let hasEnded = false;
        for await (const { id, data, message } of eventsOf(response)) {
          if (id !== undefined) last = id;
          this.#event(about, id, data);
          const how = message && this.#take(about, message);
          if (how) [end, hasEnded] = [how, true];
          if (hasEnded || left === undefined || id === undefined) continue;
          if ((left -= 1) > 0) continue;
          left = undefined;
          response.destroy();
          break;
        }
        if (hasEnded) break;
        isFirst = false;
        if (signal.aborted || last === undefined) {
          ended('lost', 'the stream was cut, and nothing says where it could go on');
          break;
        }
      } catch (error) {
        if (error instanceof Refused) {
          const { status, message, notRun } = error;
          at(error.process);
          if (!isFirst && status === 503 && !signal.aborted) {
            await waitOr(PAUSE, signal);
            continue;
          }
          if (status === 404) this.#gone();
          if (status === 410) this.write(about, { what: 'gap', why: message });
          if (!isFirst && status === 204) ended('silent', message);
          else ended('refused', `${status}: ${message}`, isFirst && notRun);
          break;
        }
        if (!(error instanceof Lost)) throw error;
        if (isFirst || signal.aborted) {
          ended('lost', error.message);
          break;
        }
      }
      await waitOr(PAUSE, signal);
    }
    await cancelling;
    return { how: end, process };
  }

  /** An event without data only says where the stream goes on. */
  #event(about: string, id: string | undefined, data: string): void {
    if (id === undefined || data === '') return;
    const [stream = '', n] = id.split('-');
    this.write(about, { what: 'event', stream, n: Number(n) });
  }

  /** Takes a message on the stream of a call. Returns how the call has ended, if it has. */
  #take(about: string, message: JsonObject): 'result' | 'error' | undefined {
    const { id, method, params = {}, result, error } = message;
    if (method === undefined) {
      if (id !== about) this.write(about, { what: 'foreign', message: JSON.stringify(message).slice(0, 200) });
      else if (error) this.end(about, 'error', String(error.message), error.data?.notExecuted === true);
      else this.end(about, 'result', String(result.content?.[0]?.text ?? ''));
      return id !== about ? undefined : error ? 'error' : 'result';
    }
    if (id !== undefined) void this.#answer(about, id, method, params);
    else if (method === 'notifications/progress') this.write(about, { what: 'step', ...stepOf(params.message) });
    else if (method === 'notifications/message') this.write(about, { what: 'step', ...stepOf(params.data) });
    return undefined;
  }

  /** Answers a question, at whatever process is next. */
  async #answer(about: string, id: unknown, method: string, params: JsonObject): Promise<void> {
    const question = questionOf(method, params);
    this.write(about, { what: 'asked', question });
    this.#questions.add(id);
    const result =
      method === 'elicitation/create'
        ? { action: 'accept', content: { answer: question } }
        : { role: 'assistant', model: 'm', content: { type: 'text', text: question } };
    const status = await this.#post(about, { id, result });
    if (status !== undefined) this.write(about, { what: 'answered', question, status });
  }

  /**
   * Posts a response or notification about a call or session. A server that cannot take it now is asked again. Undefined if
   * none takes it.
   */
  async #post(about: string, message: JsonObject): Promise<number | undefined> {
    const { url } = this.parts;
    const signal = AbortSignal.timeout(this.parts.bound);
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    for (let attempt = 0; attempt < 20 && !signal.aborted; attempt += 1) {
      try {
        const reply = await exchange(url, 'POST', this.#headers, body, signal);
        const process = processOf(reply);
        if (process !== undefined) this.write(about, { what: 'at', process });
        if (reply.status < 500) return reply.status;
      } catch {
        // It may have been taken. Then the next one is refused.
      }
      await waitOr(PAUSE, signal);
    }
    return undefined;
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.parts.open.delete(this.#session);
    this.write(this.#session, { what: 'unknown' });
  }

  /** Reads the session's own stream, at one process after the other. */
  async #listen(about: string, headers: Headers, ended: AbortSignal): Promise<void> {
    const { url, random } = this.parts;
    let last: string | undefined;
    while (!ended.aborted) {
      // Now and then, the client goes to another process.
      const signal = within(random.between(2000, 20_000), ended);
      try {
        const resuming: Headers = last === undefined ? {} : { 'last-event-id': last };
        const response = await send(url, 'GET', { ...withoutType(headers), ...resuming }, undefined, signal);
        this.write(about, { what: 'listening', process: processOf(response) ?? '' });
        if (this.hearsLists && !ended.aborted && !this.#isGone) this.parts.open.add(about);
        for await (const { id, data, message } of eventsOf(response)) {
          if (id !== undefined) last = id;
          this.#event(about, id, data);
          if (message) this.#hear(about, message);
        }
      } catch (error) {
        if (error instanceof Refused && error.status === 404) return;
        if (error instanceof Refused && error.status === 410) {
          this.write(about, { what: 'gap', why: error.message });
          last = undefined;
        }
      }
      await waitOr(PAUSE, ended);
    }
  }

  /** A message on the session's own stream. */
  #hear(about: string, message: JsonObject): void {
    const { method, params = {} } = message;
    const whose = String(params.uri ?? stepOf(params.data ?? params.message).of);
    if (method === 'notifications/resources/updated') this.write(about, { what: 'heard', thing: String(params.uri) });
    else if (method === 'notifications/tools/list_changed') this.write(about, { what: 'heard', thing: 'tools' });
    // A bridge does not know which of several calls has asked. The question says it.
    if (method !== undefined && message.id !== undefined) {
      const call = callOf(questionOf(method, params));
      if (this.isOwn(call)) return void this.#answer(call, message.id, method, params);
    }
    // The call that asked may have ended, and its stream with it.
    if (method === 'notifications/cancelled' && this.#questions.has(params.requestId)) return;
    const isFine = method === 'notifications/resources/updated' || method === 'notifications/message';
    if (!(isFine && this.isOwn(whose)) && !String(method).endsWith('list_changed'))
      this.write(about, { what: 'foreign', message: JSON.stringify(message).slice(0, 200) });
  }

  /** Ends the session, and looks whether it has ended. */
  async #delete(): Promise<void> {
    const { url } = this.parts;
    const signal = AbortSignal.timeout(this.parts.bound);
    for (let attempt = 0; attempt < 20 && !signal.aborted; attempt += 1) {
      try {
        const { status } = await exchange(url, 'DELETE', this.#headers, undefined, signal);
        if (status === 204) {
          this.write(this.#session, { what: 'deleted' });
          return await this.#useDeleted();
        }
        // A former attempt may have ended it, and its response was lost.
        if (status < 500) break;
      } catch {
        // The next attempt shows whether it was ended.
      }
      await waitOr(PAUSE, signal);
    }
    this.parts.left.count += 1;
  }

  async #useDeleted(): Promise<void> {
    for (let n = 0; n < 3; n += 1) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: `after-${n}`, method: 'ping' });
      try {
        const after = await exchange(
          this.parts.url,
          'POST',
          this.#headers,
          body,
          AbortSignal.timeout(this.parts.bound),
        );
        this.write(this.#session, { what: 'used', status: after.status });
      } catch {
        // That process is gone.
      }
    }
  }
}

/** The headers of a GET. */
function withoutType(headers: Headers): Headers {
  const { 'content-type': _type, ...others } = headers;
  return { ...others, accept: 'text/event-stream' };
}

function questionOf(method: string, params: JsonObject): string {
  return String(method === 'elicitation/create' ? params['message'] : params['messages']?.[0].content.text);
}
