import { randomBytes } from 'node:crypto';
import { shareOf } from '../../base/share.ts';
import { inShortTurns } from '../../base/short-turns.ts';
import { NotAsked, type Exchange } from '../../core/exchange.ts';
import { peerOf } from '../../core/peer-of.ts';
import { Unavailable } from '../../core/unavailable.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { OtherStateKey, ShareFull, type Bus, type NodeId } from '../../store/bus.ts';
import { writeCaller } from './forwarded-request.ts';

/** What another process has made of a request. */
export type Forwarded = { readonly held: false } | { readonly held: true; readonly result: JsonObject };

/** Passes requests on to other processes, and takes the notifications and questions that come back. */
export class Forwards {
  readonly #bus: Bus;
  readonly #kind: string;
  readonly #back = `back ${randomBytes(8).toString('hex')}`;
  readonly #open = new Map<number, Exchange>();
  readonly #stop: readonly (() => void)[];
  #count = 0;

  /** @param kind of calls that the other process answers. */
  constructor(bus: Bus, kind: string) {
    this.#bus = bus;
    this.#kind = kind;
    this.#stop = [
      bus.answer(`${this.#back} notify`, (body) => this.#notify(body)),
      bus.answer(`${this.#back} ask`, (body, { signal }) => this.#ask(body, signal)),
    ];
  }

  /** How many requests were passed on. */
  get count(): number {
    return this.#count;
  }

  /**
   * Passes a request on.
   *
   * @returns its result, or that the other process does not have what the key names, so that nothing was done.
   * @throws as `Bus.call`. Unavailable, and not NotTaken, if its client has too many calls, or the processes have different
   * state keys.
   */
  async send(to: NodeId, key: string, exchange: Exchange): Promise<Forwarded> {
    const id = (this.#count += 1);
    const { method, params, caller, signal } = exchange;
    const share = shareOf({ principal: caller.principal, address: caller.address });
    this.#open.set(id, exchange);
    try {
      const request = { key, id, back: this.#back, method, params, caller: writeCaller(caller) };
      const call = (): Promise<JsonObject> => this.#bus.call(to, this.#kind, request, { signal, share });
      // Thousands may have waited to know the process.
      const { held, result } = await inShortTurns(call, peerOf(caller));
      return held === true ? { held, result: result as JsonObject } : { held: false };
    } catch (error) {
      // The first has waited, and would have no room at other processes either. The second changes only with a new process.
      if (error instanceof ShareFull || error instanceof OtherStateKey)
        throw new Unavailable(error.message, { cause: error });
      throw error;
    } finally {
      this.#open.delete(id);
    }
  }

  close(): void {
    for (const stop of this.#stop) stop();
  }

  /** Waits until the client has taken them, so that a slow client slows down the other process. */
  async #notify({ id, notices }: JsonObject): Promise<JsonObject> {
    const exchange = this.#open.get(Number(id));
    for (const { method, params } of notices as JsonObject[]) {
      // The creator of the exchange reports what could not be sent.
      await exchange?.notify(String(method), params as JsonObject | undefined).catch(() => {});
    }
    return {};
  }

  /** The answer has no result if the question was not asked. */
  async #ask({ id, method, params, key, outlivesRequest }: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const exchange = this.#open.get(Number(id));
    if (!exchange) return {};
    const options = { signal, key: key as string | undefined, outlivesRequest: outlivesRequest === true };
    try {
      return { result: await exchange.ask(String(method), params as JsonObject, options) };
    } catch (error) {
      if (error instanceof NotAsked) return {};
      throw error;
    }
  }
}
