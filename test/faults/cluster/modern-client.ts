import { StormClient, stepOf, waitOr, within } from './storm-client.ts';
import { eventsOf, Lost, POST_HEADERS, processOf, Refused, send, type JsonObject } from './wire.ts';

const REVISION = '2026-07-28';
const MOST_ROUNDS = 5;

/** A client of 2026-07-28, which sees each byte. It has no session: each request reaches another process. */
export class ModernClient extends StormClient {
  #listens = 0;
  /** The subject of the current stream of changes, if the server has acknowledged it. */
  #listening: string | undefined;

  async live(): Promise<void> {
    const listening = this.#listen();
    while (!this.isOver) {
      await this.#use();
      await this.rest(10, 800);
    }
    await listening;
  }

  async #use(): Promise<void> {
    const { random, name } = this.parts;
    const args = { steps: random.between(2, 12), ms: random.between(0, 400) };
    await random.weighted<() => Promise<unknown>>([
      [5, () => this.#call('note')],
      [3, () => this.#call('read')],
      [5, () => this.#call('count', args)],
      [2, () => this.#call('log', args)],
      [2, () => this.#call('slow', { ms: random.between(500, 6000) })],
      [2, () => this.#call('slow', { ms: 60_000 }, args.ms)],
      [2, () => this.#call('levels')],
      [4, () => this.#call('ask')],
      [3, () => this.#call('ask-once')],
      [2, () => this.#call('sample')],
      [3, () => this.#touch(`storm://${name}`)],
      [0.1, () => this.#relist()],
    ])();
  }

  async #touch(uri: string): Promise<void> {
    const [since, listening] = [Date.now(), this.#listening];
    const process = await this.#call('touch', { uri });
    if (process === undefined || listening === undefined || this.#listening !== listening) return;
    this.write(listening, { what: 'changed', thing: uri, since, process });
  }

  async #relist(): Promise<void> {
    const [since, open] = [Date.now(), new Set(this.parts.open)];
    const process = await this.#call('relist');
    if (process !== undefined) this.listChanged(open, since, process);
  }

  /** Calls a tool. Resolves with the process whose result came, if one did. */
  async #call(tool: string, args: JsonObject = {}, cancelAfter?: number): Promise<string | undefined> {
    const about = this.begin(tool, true);
    const level = this.parts.random.of(['debug', 'info', 'error']);
    if (tool === 'levels') this.write(about, { what: 'level', level, since: 0 });
    const late = AbortSignal.timeout(this.parts.bound);
    const cancelled = new AbortController();
    const cancel = (): void => {
      this.write(about, { what: 'cancelled', since: Date.now(), process: undefined, status: 202 });
      cancelled.abort();
    };
    if (cancelAfter !== undefined) void waitOr(cancelAfter, this.parts.over).then(cancel);
    const signal = AbortSignal.any([late, cancelled.signal]);
    let more: JsonObject = {};
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const params = {
        name: tool,
        arguments: { call: about, ...args },
        ...more,
        _meta: { progressToken: about, 'io.modelcontextprotocol/logLevel': level },
      };
      const outcome = await this.#round(about, params, round, signal);
      if (outcome === 'lost' || outcome === 'no response') {
        if (cancelled.signal.aborted) this.end(about, 'cancelled', 'cancelled');
        else this.end(about, late.aborted ? 'timeout' : 'lost', outcome);
      }
      if (typeof outcome === 'string') return undefined;
      if ('process' in outcome) return outcome['process'] as string;
      more = outcome;
    }
    this.end(about, 'silent', `asked again after ${MOST_ROUNDS} rounds`);
    return undefined;
  }

  /**
   * Sends a request. Resolves with what the next one must have in addition, or how it has ended: with the process if that was
   * with a result.
   */
  async #round(
    about: string,
    params: JsonObject,
    round: number,
    signal: AbortSignal,
  ): Promise<JsonObject | 'lost' | 'no response' | 'ended'> {
    let more: JsonObject | undefined;
    let hasEnded = false;
    let process = '';
    const at = (name: string | undefined): void => {
      if (name === undefined) return;
      process = name;
      this.write(about, { what: 'at', process });
    };
    try {
      const { headers, body } = this.#request(`${about}.${round}`, 'tools/call', params);
      const response = await send(this.parts.url, 'POST', headers, body, signal);
      at(processOf(response));
      for await (const { message } of eventsOf(response)) {
        const { id, method, params: given = {}, result, error } = message ?? {};
        if (method === 'notifications/progress') this.write(about, { what: 'step', ...stepOf(given.message) });
        else if (method === 'notifications/message') this.write(about, { what: 'step', ...stepOf(given.data) });
        else if (method !== undefined || message === undefined) continue;
        else if (id !== `${about}.${round}`)
          this.write(about, { what: 'foreign', message: JSON.stringify(message).slice(0, 200) });
        else if (error) {
          hasEnded = true;
          this.end(about, 'error', String(error.message), round === 0 && error.data?.notExecuted === true);
        } else if (result.resultType === 'input_required') {
          more = this.#answers(about, result);
        } else {
          more = { process };
          this.end(about, 'result', String(result.content?.[0]?.text ?? ''));
        }
      }
    } catch (error) {
      if (error instanceof Lost) return 'lost';
      if (!(error instanceof Refused)) throw error;
      at(error.process);
      this.end(about, 'refused', `${error.status}: ${error.message}`, round === 0 && error.notRun);
      return 'ended';
    }
    return hasEnded ? 'ended' : (more ?? 'no response');
  }

  #answers(about: string, { inputRequests, requestState }: JsonObject): JsonObject {
    const answers = Object.entries<JsonObject>(inputRequests).map(([key, { method, params }]) => {
      const question = String(method === 'elicitation/create' ? params['message'] : params['messages'][0].content.text);
      this.write(about, { what: 'asked', question });
      const answer =
        method === 'elicitation/create'
          ? { action: 'accept', content: { answer: question } }
          : { role: 'assistant', model: 'm', content: { type: 'text', text: question } };
      return [key, answer] as const;
    });
    return { inputResponses: Object.fromEntries(answers), requestState };
  }

  #request(id: string, method: string, params: JsonObject): { headers: Record<string, string>; body: string } {
    const { _meta, ...rest } = params;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientInfo': { name: this.parts.name, version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, sampling: {} },
      ..._meta,
    };
    const name: unknown = params['name'];
    const headers = {
      ...POST_HEADERS,
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    };
    return { headers, body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...rest, _meta: meta } }) };
  }

  /** Listens to changes, at one process after the other. */
  async #listen(): Promise<void> {
    const { name, random, over, open } = this.parts;
    while (!this.isOver) {
      const about = `${name}@listen-${(this.#listens += 1)}`;
      const signal = within(random.between(2000, 40_000), over);
      const notifications = { resourceSubscriptions: [`storm://${name}`], toolsListChanged: true };
      const { headers, body } = this.#request(about, 'subscriptions/listen', { notifications });
      let why: 'lost' | 'refused' | 'ended' = 'lost';
      let text = '';
      try {
        const response = await send(this.parts.url, 'POST', headers, body, signal);
        const process = processOf(response) ?? '';
        this.write(about, { what: 'at', process });
        for await (const { message } of eventsOf(response)) {
          if (message?.['method'] !== undefined) this.#hear(about, process, message);
          else if (message) [why, text] = ['ended', JSON.stringify(message)];
        }
      } catch (error) {
        if (!(error instanceof Lost || error instanceof Refused)) throw error;
        text = error.message;
        if (error instanceof Refused) why = 'refused';
        if (error instanceof Refused && error.process) this.write(about, { what: 'at', process: error.process });
      }
      this.#listening = undefined;
      open.delete(about);
      this.write(about, { what: 'closed', why: signal.aborted ? 'left' : why, text });
      await this.rest(100, 500);
    }
  }

  /** A message on the stream of changes. */
  #hear(about: string, process: string, { method, params = {} }: JsonObject): void {
    const uri: unknown = params.uri;
    if (method === 'notifications/subscriptions/acknowledged') {
      this.#listening = about;
      this.parts.open.add(about);
      this.write(about, { what: 'listening', process });
    } else if (method === 'notifications/tools/list_changed') this.write(about, { what: 'heard', thing: 'tools' });
    else if (typeof uri === 'string' && this.isOwn(uri)) this.write(about, { what: 'heard', thing: uri });
    else this.write(about, { what: 'foreign', message: String(uri ?? method) });
  }
}
