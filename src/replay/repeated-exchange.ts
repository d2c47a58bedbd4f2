import { BaseExchange } from '../core/base-exchange.ts';
import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { completeRounds, needsInput } from '../core/rounds.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { SENT_AT_ONCE } from '../transport/transport.ts';

/** What hears and answers the server during a request. */
export interface Hears {
  readonly notify: (method: string, params: JsonObject) => void;
  readonly ask: (method: string, params: JsonObject) => JsonObject;
}

/** One request that is sent again. */
export class RepeatedExchange extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: Caller;
  readonly #hears: Hears;

  constructor(method: string, params: JsonObject, caller: Caller, hears: Hears) {
    super();
    this.method = method;
    this.params = params;
    this.caller = caller;
    this.#hears = hears;
  }

  notify(method: string, params: JsonObject = {}): Promise<void> {
    this.#hears.notify(method, params);
    return SENT_AT_ONCE;
  }

  async ask(method: string, params: JsonObject): Promise<JsonObject> {
    return this.#hears.ask(method, params);
  }

  /**
   * Sends the request. Settles at once when it is cancelled.
   *
   * @param answers whether to answer questions in further rounds (2026-07-28, basic/patterns/mrtr).
   * @throws the reason of `abort`, or what the service throws.
   */
  async run(service: Service, answers: boolean): Promise<JsonObject> {
    const cancelled = new Promise<never>((_, reject) => this.onAbort(() => reject(this.ended!)));
    cancelled.catch(() => {});
    const work = async (): Promise<JsonObject> => {
      const first = await invoke(service, this);
      return answers && needsInput(first) ? completeRounds(service, this, first) : first;
    };
    return Promise.race([work(), cancelled]);
  }
}
