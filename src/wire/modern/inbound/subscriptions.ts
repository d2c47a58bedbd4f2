import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import type { ModernExchange } from './exchange.ts';

/** The open `subscriptions/listen` exchanges, limited in total and for each principal. */
export class Subscriptions implements Iterable<ModernExchange> {
  readonly #max: number;
  readonly #maxPerPrincipal: number;
  readonly #open = new Map<ModernExchange, string | undefined>();
  readonly #perPrincipal = new Map<string, number>();

  constructor(max: number, maxPerPrincipal: number) {
    this.#max = max;
    this.#maxPerPrincipal = maxPerPrincipal;
  }

  /** @throws RpcError if there are too many. */
  add(exchange: ModernExchange): void {
    const { principal } = exchange.caller;
    const own = principal === undefined ? 0 : (this.#perPrincipal.get(principal) ?? 0);
    if (this.#open.size >= this.#max || own >= this.#maxPerPrincipal) {
      throw new RpcError(ErrorCode.InternalError, 'Too many subscriptions are open; try again later');
    }
    this.#open.set(exchange, principal);
    if (principal !== undefined) this.#perPrincipal.set(principal, own + 1);
  }

  delete(exchange: ModernExchange): void {
    const principal = this.#open.get(exchange);
    if (!this.#open.delete(exchange) || principal === undefined) return;
    const left = this.#perPrincipal.get(principal)! - 1;
    if (left > 0) this.#perPrincipal.set(principal, left);
    else this.#perPrincipal.delete(principal);
  }

  [Symbol.iterator](): IterableIterator<ModernExchange> {
    return this.#open.keys();
  }
}
