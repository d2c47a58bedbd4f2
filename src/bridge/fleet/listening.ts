import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { CHANGES } from './kinds.ts';
import type { FleetMember, Members } from './members.ts';
import { MergedListen } from './merged-listen.ts';
import type { Renaming } from './results.ts';
import type { Routes } from './routes.ts';
import type { View } from './view.ts';
import type { Views } from './views.ts';

/** URIs, and ids of tasks, in one filter. */
const MAX_NAMES = 1000;
/** Characters of one of them. */
const MAX_NAME = 8192;

export interface ListeningOptions {
  readonly members: Members;
  readonly views: Views;
  readonly routes: Routes;
  /** Milliseconds that one server may take to acknowledge before the others' is passed on without. */
  readonly timeout: number;
  readonly renaming: (member: FleetMember, view: View) => Renaming;
}

/** The open `subscriptions/listen` exchanges of a fleet (2026-07-28, basic/patterns/subscriptions). */
export class Listening {
  readonly #options: ListeningOptions;
  readonly #open = new Set<MergedListen>();

  constructor(options: ListeningOptions) {
    this.#options = options;
  }

  /**
   * Listens to all servers that have any of what is asked; acknowledges once. Resolves when the exchange's signal fires, or
   * the fleet is closed.
   *
   * @throws RpcError −32602 where the filter is malformed or too large; what the servers refuse it with, where all do.
   */
  async listen(exchange: Exchange): Promise<JsonObject> {
    const filter = filterOf(exchange.params['notifications']);
    if (exchange.signal.aborted) return {};
    const { members, views, routes, timeout, renaming } = this.#options;
    // It may be another one by the time that a server says something.
    const view = (): View => views.of(exchange);
    const listen = new MergedListen(exchange, filter, {
      members,
      view,
      timeout,
      route: (uri) => routes.ownersOf(uri, exchange, view()),
      renaming: (member) => renaming(member, view()),
    });
    this.#open.add(listen);
    try {
      return await listen.run();
    } finally {
      this.#open.delete(listen);
    }
  }

  /** The lists are others now, for a server is there again. */
  changed(): void {
    for (const listen of this.#open) listen.changed();
  }

  /** The servers are others now. */
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
  for (const { flag } of CHANGES) if (asked[flag] === true) filter[flag] = true;
  for (const key of ['resourceSubscriptions', 'taskIds'] as const) {
    const names: unknown = asked[key];
    if (names === undefined) continue;
    const fit = (name: unknown): boolean => typeof name === 'string' && name.length <= MAX_NAME;
    if (!Array.isArray(names) || names.length > MAX_NAMES || !names.every(fit)) {
      throw new RpcError(
        ErrorCode.InvalidParams,
        `"${key}" must be an array of at most ${MAX_NAMES} strings of ${MAX_NAME} characters each`,
      );
    }
    if (names.length > 0) filter[key] = [...new Set<string>(names)];
  }
  return filter;
}
