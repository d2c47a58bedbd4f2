import { BaseExchange } from '../../core/base-exchange.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange } from '../../core/exchange.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
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
  readonly #share: string | undefined;
  readonly #onerror: (error: Error) => void;
  /** Their sender, a `NoticeQueue`, counts them as on their way, and limits them. */
  #waiting: { readonly notice: Notice; readonly size: number }[] = [];
  /** Settles when nothing waits any more. Never rejects. */
  #sending: Promise<void> | undefined;
  #lost = false;
  #over = false;

  /**
   * @param caller the caller at this process.
   * @param onerror gets what could not be sent.
   */
  constructor(
    { bus, onerror }: { readonly bus: Bus; readonly onerror: (error: Error) => void },
    request: ForwardedRequest,
    caller: Caller,
    { from, signal, share }: ReceivedCall,
  ) {
    super();
    this.#bus = bus;
    this.#onerror = onerror;
    this.#request = request;
    this.#from = from;
    this.#share = share;
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
    const notice = params === undefined ? { method } : { method, params };
    let size: number;
    try {
      size = JSON.stringify(notice).length;
    } catch (error) {
      const failed = Promise.reject(error);
      failed.catch(() => {});
      this.#onerror(new Error(`${method} cannot be written as JSON, so it was not sent`, { cause: error }));
      return failed;
    }
    this.#waiting.push({ notice, size });
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
      answer = await this.#bus.call(this.#from, `${back} ask`, question, { signal: ends, share: this.#share });
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
        await this.#bus.call(
          this.#from,
          `${back} notify`,
          { id, notices },
          { signal: this.signal, share: this.#share },
        );
      } catch (error) {
        // The other process has ended, which ends the exchange, or messages are lost. Progress and logs may be lost.
        this.#lost = true;
        // The other process listens again, and says that all may have changed.
        if (this.method === Method.Listen) this.abort(error as Error);
      }
    }
    if (this.#waiting.splice(0).length > 0) this.#lost = true;
    this.#sending = undefined;
  }

  #portion(): Notice[] {
    let sum = 0;
    let count = 0;
    for (const { size } of this.#waiting) {
      if (count >= MAX_NOTICES || sum >= PORTION) break;
      sum += size;
      count += 1;
    }
    return this.#waiting.splice(0, count).map(({ notice }) => notice);
  }
}
