import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../../jsonrpc/pending.ts';
import { Method, Notice } from '../../protocol/methods.ts';
import { isWithin } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { CHANGES } from './kinds.ts';
import type { FleetMember, Members } from './members.ts';
import { PartExchange } from './part.ts';
import { isSame } from './same.ts';

/** Milliseconds before a server is listened to again: at first, and at most. */
const FIRST_DELAY = 500;
const MAX_DELAY = 30_000;
/** One that was listened to for so long (milliseconds) was a good one. */
const STABLE_AFTER = 5000;
/** So many attempts in a row may fail. */
const MAX_FAILURES = 20;
/** Errors that may be gone the next time. With any other a server refuses. */
const PASSING: ReadonlySet<number> = new Set([CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorCode.InternalError]);

/** What one server is asked for, and what the URIs are called that the caller asked for. */
export interface Wanted {
  readonly filter: SubscriptionFilter;
  readonly outward: ReadonlyMap<string, string>;
}

/** Who is told what becomes of it. */
export interface ServerListenOptions {
  readonly members: Members;
  /** Takes what the server says. */
  readonly onnotice: (listen: ServerListen, method: string, params: JsonObject) => Promise<void>;
  /** The server listens, `again` where it was listened to or asked before: what it said in between nobody heard. */
  readonly onacknowledged: (listen: ServerListen, again: boolean) => void;
  /** The server refuses, or was lost too often: it is not listened to any more. */
  readonly onend: (listen: ServerListen) => void;
}

/** One server, listened to until it is stopped: again, with growing pauses, where it is lost. */
export class ServerListen {
  readonly member: FleetMember;
  /** Resolves when it is known for the first time what the server does, or that it does not. */
  readonly settled: Promise<void>;
  /** What the server does of what it was asked for. */
  honoured: SubscriptionFilter | undefined;
  /** Why it does nothing, as far as is known. */
  refused: RpcError | undefined;
  readonly #whole: Exchange;
  readonly #options: ServerListenOptions;
  readonly #stopped = new AbortController();
  #wanted: Wanted;
  #settle!: () => void;

  constructor(whole: Exchange, member: FleetMember, wanted: Wanted, options: ServerListenOptions) {
    this.member = member;
    this.settled = new Promise((resolve) => (this.#settle = resolve));
    this.#whole = whole;
    this.#wanted = wanted;
    this.#options = options;
  }

  /** What the caller calls a URI that it asked for, or a part of one; undefined for any other. */
  asked(uri: string): string | undefined {
    const { outward } = this.#wanted;
    const exact = outward.get(uri);
    if (exact !== undefined) return exact;
    let nearest: string | undefined;
    for (const own of outward.keys()) if (isWithin(uri, own) && own.length > (nearest?.length ?? -1)) nearest = own;
    return nearest === undefined ? undefined : `${outward.get(nearest)!}${uri.slice(nearest.length)}`;
  }

  /** Takes what is wanted now. False where the server has to be asked anew for that. */
  suffices(wanted: Wanted | undefined): boolean {
    const { filter } = this.#wanted;
    const asked = wanted?.filter ?? {};
    const urisOf = (each: SubscriptionFilter): ReadonlySet<string> => new Set(each.resourceSubscriptions);
    const same =
      CHANGES.every(({ flag }) => filter[flag] === true || asked[flag] !== true) &&
      isSame(urisOf(filter), urisOf(asked));
    if (same && wanted) this.#wanted = { filter, outward: wanted.outward };
    return same;
  }

  /** Nobody listens to it any more. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Resolves when it is stopped, or does not go on by itself. */
  async run(): Promise<void> {
    const { members, onend } = this.#options;
    const { signal } = this.#stopped;
    let failures = 0;
    for (let again = false; !signal.aborted; again = true) {
      const { lost, ended, lasted } = await this.#once(again);
      if (signal.aborted) break;
      const acknowledged = lasted !== undefined;
      if (!acknowledged && !PASSING.has(lost.code)) {
        this.refused = lost;
        onend(this);
        break;
      }
      failures = acknowledged && lasted >= STABLE_AFTER ? 0 : failures + 1;
      // A server may end a subscription at any time, and is there all the same.
      if (!(acknowledged && ended)) members.failed(this.member, Method.Listen, lost);
      if (!acknowledged) this.refused ??= lost;
      this.#settle();
      if (failures > MAX_FAILURES) {
        members.warn(`the server ${JSON.stringify(this.member.name)} is not listened to any more: ${lost.message}`);
        onend(this);
        break;
      }
      await pause(failures, signal);
      this.refused = undefined;
    }
    this.#settle();
  }

  /** One subscription. Resolves with why it is over, and how many milliseconds it lasted once it was acknowledged. */
  async #once(again: boolean): Promise<{ lost: RpcError; ended: boolean; lasted: number | undefined }> {
    const { members, onnotice, onacknowledged } = this.#options;
    const { signal } = this.#stopped;
    let acknowledgedAt: number | undefined;
    const params = { notifications: this.#wanted.filter };
    const exchange = new PartExchange(this.#whole, Method.Listen, params, (method, said = {}) => {
      if (signal.aborted) return Promise.resolve();
      if (method !== Notice.Acknowledged) return onnotice(this, method, said);
      if (acknowledgedAt !== undefined) return Promise.resolve();
      acknowledgedAt = performance.now();
      this.honoured = isObject(said['notifications']) ? said['notifications'] : {};
      onacknowledged(this, again);
      this.#settle();
      members.answered(this.member);
      return Promise.resolve();
    });
    const stop = (): void => exchange.abort(new RpcError(CONNECTION_CLOSED, 'Nobody listens any more'));
    signal.addEventListener('abort', stop, { once: true });
    let ended = false;
    const lost = await this.member.service(exchange).then(
      () => {
        ended = true;
        return new RpcError(CONNECTION_CLOSED, 'the subscription has ended');
      },
      (error: unknown) => RpcError.from(error),
    );
    signal.removeEventListener('abort', stop);
    return { lost, ended, lasted: acknowledgedAt === undefined ? undefined : performance.now() - acknowledgedAt };
  }
}

/** Waits before the next attempt, shortened at random, or until the signal fires. */
function pause(failures: number, signal: AbortSignal): Promise<void> {
  const longest = Math.min(FIRST_DELAY * 2 ** Math.max(0, failures - 1), MAX_DELAY);
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, longest * (0.5 + Math.random() / 2));
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
