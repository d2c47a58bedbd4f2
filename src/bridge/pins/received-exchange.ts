import { BaseExchange } from '../../core/base-exchange.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange } from '../../core/exchange.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { NotTaken, type Bus, type ReceivedCall } from '../../store/bus.ts';
import type { ForwardedRequest, Notice } from './forwarded-request.ts';

/** About how many characters of notifications go into one message. */
const PORTION = 1024 * 1024;
/** The most notifications in one message. */
const MAX_NOTICES = 100;

/** A request that another process has passed on. Its notifications and questions go back to that process. */
export class ReceivedExchange extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: Caller;
  readonly #bus: Bus;
  readonly #request: ForwardedRequest;
  readonly #from: string;
  #waiting: Notice[] = [];
  /** Settles when nothing waits any more. Never rejects. */
  #sending: Promise<void> | undefined;
  #lost = false;
  #over = false;

  /** @param caller the caller at this process. */
  constructor(bus: Bus, request: ForwardedRequest, caller: Caller, { from, signal }: ReceivedCall) {
    super();
    this.#bus = bus;
    this.#request = request;
    this.#from = from;
    this.method = request.method;
    this.params = request.params;
    this.caller = caller;
    const onabort = (): void => this.abort(signal.reason as Error);
    if (signal.aborted) onabort();
    else signal.addEventListener('abort', onabort, { once: true });
  }

  /** Whether the other process may not have got some notifications. */
  get lost(): boolean {
    return this.#lost;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    if (this.ended || this.#over) return Promise.resolve();
    this.#waiting.push(params === undefined ? { method } : { method, params });
    return (this.#sending ??= this.#send());
  }

  async ask(method: string, params: JsonObject, options: AskOptions = {}): Promise<JsonObject> {
    const { signal, key, outlivesRequest = false } = options;
    if (this.ended || this.#over) throw new NotAsked(method, this.method);
    await this.#sending;
    const { id, back } = this.#request;
    const question = { id, method, params, ...(key === undefined ? {} : { key }), outlivesRequest };
    const over = outlivesRequest ? [] : [this.signal];
    let answer: JsonObject;
    try {
      const ends = AbortSignal.any([...(signal ? [signal] : []), ...over]);
      answer = await this.#bus.call(this.#from, `${back} ask`, question, { signal: ends });
    } catch (error) {
      throw error instanceof NotTaken ? new NotAsked(method, this.method) : error;
    }
    const { result } = answer;
    if (!isObject(result)) throw new NotAsked(method, this.method);
    return result;
  }

  /** The request is answered. Resolves when the other process has all notifications. */
  async finish(): Promise<void> {
    this.#over = true;
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { id, back } = this.#request;
    // So that notifications of one turn go out together.
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.ended) {
      const notices = this.#portion();
      try {
        await this.#bus.call(this.#from, `${back} notify`, { id, notices }, { signal: this.signal });
      } catch {
        // The other process is gone, which ends the exchange, or messages are lost. Progress and logs may be lost.
        this.#lost = true;
      }
    }
    this.#waiting = [];
    this.#sending = undefined;
  }

  #portion(): Notice[] {
    let size = 0;
    let count = 0;
    for (const notice of this.#waiting) {
      if (count >= MAX_NOTICES || size >= PORTION) break;
      size += JSON.stringify(notice).length;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
