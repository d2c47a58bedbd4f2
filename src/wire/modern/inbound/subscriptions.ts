import { Quota } from '../../../base/quota.ts';
import { PART_OF_ONE, ShareCounts, shareOf } from '../../../base/share.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { Meta } from '../../../protocol/methods.ts';
import type { SubscriptionFilter } from '../../../protocol/types.ts';
import type { ModernExchange, Round } from './exchange.ts';

/** The most memory for the names of resources and tasks in all filters, in bytes (estimated). */
const MAX_NAMES_BYTES = 64 * 1024 * 1024;
/** The memory of a name besides its text: 130 bytes in a server, as measured, and more in a bridge. */
const NAME_BYTES = 256;
/** How often the text of a name is kept: in the request and as a key. */
const COPIES = 2;

interface Opened {
  readonly share: string;
  /** The memory of the names in its filter. */
  readonly bytes: number;
}

/**
 * The open `subscriptions/listen` exchanges, limited in number and by the names in their filters, in total and for each
 * principal or address.
 */
export class Subscriptions implements Iterable<ModernExchange> {
  readonly #max: number;
  readonly #maxPerPrincipal: number;
  readonly #open = new Map<ModernExchange, Opened>();
  readonly #counts = new ShareCounts();
  readonly #names = new Quota(MAX_NAMES_BYTES, MAX_NAMES_BYTES * PART_OF_ONE);

  constructor(max: number, maxPerPrincipal: number) {
    this.#max = max;
    this.#maxPerPrincipal = maxPerPrincipal;
  }

  /**
   * @param address of the caller.
   * @throws RpcError if there are too many.
   */
  add(exchange: ModernExchange, filter: SubscriptionFilter, address: string | undefined): void {
    const { principal } = exchange.caller;
    const share = shareOf({ principal, address });
    // Behind a proxy, all callers without a principal have one address.
    const maxOwn = principal === undefined ? this.#max * PART_OF_ONE : this.#maxPerPrincipal;
    if (this.#open.size >= this.#max || this.#counts.of(share) >= maxOwn)
      throw new RpcError(ErrorCode.InternalError, 'Too many subscriptions are open; try again later');
    const bytes = bytesOf(filter);
    if (!this.#names.take(share, bytes)) {
      const message = 'The open subscriptions name too many resources and tasks; try again later';
      throw new RpcError(ErrorCode.InternalError, message);
    }
    this.#open.set(exchange, { share, bytes });
    this.#counts.add(share);
  }

  delete(exchange: ModernExchange): void {
    const opened = this.#open.get(exchange);
    if (!opened) return;
    this.#open.delete(exchange);
    this.#counts.remove(opened.share);
    this.#names.giveBack(opened.share, opened.bytes);
  }

  [Symbol.iterator](): IterableIterator<ModernExchange> {
    return this.#open.keys();
  }
}

function bytesOf({ resourceSubscriptions = [], taskIds = [] }: SubscriptionFilter): number {
  let bytes = 0;
  for (const names of [resourceSubscriptions, taskIds])
    for (const { length } of names) bytes += NAME_BYTES + COPIES * length;
  return bytes;
}

/** The result of a subscription, with the subscription id that its notifications had too. */
export function subscriptionResult(result: JsonObject, { id }: Pick<Round, 'id'>): JsonObject {
  return { ...result, _meta: { ...(isObject(result['_meta']) ? result['_meta'] : {}), [Meta.SubscriptionId]: id } };
}
