import { StormClient, stepOf, waitOr } from './storm-client.ts';
import { eventsOf, Lost, POST_HEADERS, Refused, send, type JsonObject } from './wire.ts';

const REVISION = '2026-07-28';
const MOST_ROUNDS = 5;

/** A client of 2026-07-28, which sees each byte. It has no session: each request reaches another process. */
export class ModernClient extends StormClient {
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
    await random.weighted<() => Promise<void>>([
      [5, () => this.#call('note')],
      [3, () => this.#call('read')],
      [5, () => this.#call('count', args)],
      [2, () => this.#call('log', args)],
      [2, () => this.#call('slow', { ms: random.between(500, 6000) })],
      [2, () => this.#call('slow', { ms: 8000 }, args.ms)],
      [4, () => this.#call('ask')],
      [3, () => this.#call('ask-once')],
      [2, () => this.#call('sample')],
      [2, () => this.#call('touch', { uri: `storm://${name}` })],
    ])();
  }

  async #call(tool: string, args: JsonObject = {}, cancelAfter?: number): Promise<void> {
    const about = this.begin(tool, true);
    const late = AbortSignal.timeout(this.parts.bound);
    const cancelled = new AbortController();
    if (cancelAfter !== undefined) void waitOr(cancelAfter, this.parts.over).then(() => cancelled.abort());
    const signal = AbortSignal.any([late, cancelled.signal]);
    let more: JsonObject = {};
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const params = {
        name: tool,
        arguments: { call: about, ...args },
        ...more,
        _meta: { progressToken: about, 'io.modelcontextprotocol/logLevel': 'info' },
      };
      const outcome = await this.#round(about, params, round, signal);
      if (outcome === 'lost' || outcome === 'no response') {
        if (cancelled.signal.aborted) this.end(about, 'cancelled', 'cancelled');
        else this.end(about, late.aborted ? 'timeout' : 'lost', outcome);
      }
      if (typeof outcome === 'string') return;
      more = outcome;
    }
    this.end(about, 'silent', `asked again after ${MOST_ROUNDS} rounds`);
  }

  /** Sends a request. Resolves with what the next one must have in addition, or how it has ended. */
  async #round(
    about: string,
    params: JsonObject,
    round: number,
    signal: AbortSignal,
  ): Promise<JsonObject | 'lost' | 'no response' | 'ended'> {
    let more: JsonObject | undefined;
    let hasEnded = false;
    try {
      const { headers, body } = this.#request(`${about}.${round}`, 'tools/call', params);
      const response = await send(this.parts.url, 'POST', headers, body, signal);
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
          hasEnded = true;
          this.end(about, 'result', String(result.content?.[0]?.text ?? ''));
        }
      }
    } catch (error) {
      if (error instanceof Lost) return 'lost';
      if (!(error instanceof Refused)) throw error;
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
    const { name, random, over } = this.parts;
    while (!this.isOver) {
      const signal = AbortSignal.any([over, AbortSignal.timeout(random.between(2000, 20_000))]);
      const notifications = { resourceSubscriptions: [`storm://${name}`], toolsListChanged: true };
      const { headers, body } = this.#request(`${name}-listen`, 'subscriptions/listen', { notifications });
      try {
        const response = await send(this.parts.url, 'POST', headers, body, signal);
        for await (const { message } of eventsOf(response)) {
          const uri: unknown = message?.['params']?.uri;
          if (typeof uri === 'string' && !this.isOwn(uri))
            this.write(`${name}@listen`, { what: 'foreign', message: uri });
        }
      } catch (error) {
        if (!(error instanceof Lost || error instanceof Refused)) throw error;
      }
      await this.rest(100, 500);
    }
  }
}
