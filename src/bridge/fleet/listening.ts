import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { LIST_CHANGES } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import type { Members } from './members.ts';
import { MergedListen } from './merged-listen.ts';

/** URIs, and ids of tasks, in one filter. */
const MAX_NAMES = 1000;
/** Characters of one of them. */
const MAX_NAME = 8192;

/** The open `subscriptions/listen` exchanges of a fleet (2026-07-28, basic/patterns/subscriptions). */
export class Listening {
  readonly #members: Members;
  readonly #open = new Set<MergedListen>();

  constructor(members: Members) {
    this.#members = members;
  }

  /**
   * Listens to all servers; acknowledges once. Resolves when the exchange's signal fires, or the fleet is closed.
   *
   * @throws RpcError −32602 where the filter is malformed or too large; what the servers refuse it with, where all do.
   */
  async listen(exchange: Exchange): Promise<JsonObject> {
    const filter = filterOf(exchange.params['notifications']);
    if (exchange.signal.aborted) return {};
    const listen = new MergedListen(exchange, filter, this.#members);
    this.#open.add(listen);
    try {
      await listen.run();
      return {};
    } finally {
      this.#open.delete(listen);
    }
  }

  /** The servers, or their names, have changed. */
  update(): void {
    for (const listen of this.#open) listen.update();
  }

  close(): void {
    for (const listen of this.#open) listen.end();
  }
}

function filterOf(asked: unknown): SubscriptionFilter {
  if (!isObject(asked)) throw new RpcError(ErrorCode.InvalidParams, '"notifications" must be an object');
  const filter: SubscriptionFilter = {};
  for (const [flag] of LIST_CHANGES) if (asked[flag] === true) filter[flag] = true;
  for (const key of ['resourceSubscriptions', 'taskIds'] as const) {
    const names: unknown = asked[key];
    if (names === undefined) continue;
    const fits = (name: unknown): boolean => typeof name === 'string' && name.length <= MAX_NAME;
    if (!Array.isArray(names) || names.length > MAX_NAMES || !names.every(fits)) {
      throw new RpcError(
        ErrorCode.InvalidParams,
        `"${key}" must be an array of at most ${MAX_NAMES} strings of ${MAX_NAME} characters each`,
      );
    }
    if (names.length > 0) filter[key] = [...new Set<string>(names)];
  }
  return filter;
}
