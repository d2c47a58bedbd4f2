import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../../jsonrpc/pending.ts';
import { Method, Notice } from '../../protocol/methods.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { CHANGES } from './kinds.ts';
import { signed, type Member, type Members } from './members.ts';
import { PartExchange } from './part.ts';
import { renameNotice, type Renaming } from './results.ts';
import { splitTaskId } from './tasks.ts';
import type { View } from './views.ts';

/** Milliseconds before a server is listened to again: at first, and at most. */
const FIRST_DELAY = 500;
const MAX_DELAY = 30_000;
/** One that was listened to for so long (milliseconds) was a good one. */
const STABLE_AFTER = 5000;
/** So many attempts in a row may fail. */
const MAX_FAILURES = 20;
/** What is said before all servers have acknowledged waits; the oldest goes where it is more. */
const MAX_WAITING = 1000;
/** Errors that may be gone the next time. With any other a server refuses. */
const PASSING: ReadonlySet<number> = new Set([CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorCode.InternalError]);

export interface MergedListenOptions {
  readonly members: Members;
  readonly view: View;
  /** Milliseconds that a server may take to acknowledge before the others' is passed on without. */
  readonly timeout: number;
  /** The servers that a URI may be of, each with what it is there. */
  readonly route: (uri: string) => Promise<readonly { readonly member: Member; readonly uri: string }[]>;
  readonly renaming: (member: Member) => Renaming;
}

/** What one server is asked for, and what the URIs are called that the caller asked for. */
interface Wanted {
  readonly filter: SubscriptionFilter;
  readonly outward: ReadonlyMap<string, string>;
}

/** One server, listened to until nobody wants that any more. */
interface Part {
  readonly controller: AbortController;
  /** Settles when it is known for the first time what the server does, or that it does not. */
  readonly settled: Promise<void>;
  honoured: SubscriptionFilter | undefined;
  refused: RpcError | undefined;
}

/** One `subscriptions/listen`, served by as many of the servers. One that is lost is listened to again; the others go on. */
export class MergedListen {
  readonly #exchange: Exchange;
  readonly #filter: SubscriptionFilter;
  readonly #options: MergedListenOptions;
  readonly #parts = new Map<Member, Part>();
  readonly #over = new AbortController();
  /** By server, what the caller calls the URIs that it asked for. */
  readonly #outward = new Map<Member, ReadonlyMap<string, string>>();
  /** What was said before the acknowledgement. */
  #waiting: [method: string, params: JsonObject | undefined][] | undefined = [];

  constructor(exchange: Exchange, filter: SubscriptionFilter, options: MergedListenOptions) {
    this.#exchange = exchange;
    this.#filter = filter;
    this.#options = options;
  }

  async run(): Promise<JsonObject> {
    const { signal } = this.#exchange;
    const end = (): void => this.end();
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    const over = new Promise<void>((resolve) => {
      if (this.#over.signal.aborted) resolve();
      else this.#over.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    try {
      await this.#open();
      await Promise.race([over, this.#allSettled()]);
      if (this.#over.signal.aborted) return {};
      this.#checkRefused();
      await this.#acknowledge();
      await over;
      return {};
    } finally {
      signal.removeEventListener('abort', end);
      this.end();
    }
  }

  /** Nobody listens any more. */
  end(): void {
    this.#over.abort();
    for (const { controller } of this.#parts.values()) controller.abort();
    this.#parts.clear();
  }

  /** All lists that are listened to have changed. */
  changed(): void {
    for (const { flag, notice } of CHANGES) if (this.#filter[flag]) void this.#say(notice, undefined);
  }

  /** The servers are others now. */
  update(): void {
    const all = new Set(this.#options.members);
    for (const [member, { controller }] of this.#parts) {
      if (all.has(member)) continue;
      controller.abort();
      this.#parts.delete(member);
      this.#outward.delete(member);
    }
    this.#open().catch(() => {});
    this.changed();
  }

  /** Listens to those that are not listened to so far. */
  async #open(): Promise<void> {
    const { members } = this.#options;
    for (const [member, wanted] of await this.#wanted()) {
      if (this.#over.signal.aborted) return;
      if (this.#parts.has(member) || members.get(member.name) !== member) continue;
      let settle!: () => void;
      const settled = new Promise<void>((resolve) => (settle = resolve));
      const part: Part = { controller: new AbortController(), settled, honoured: undefined, refused: undefined };
      this.#parts.set(member, part);
      void this.#keep(member, wanted, part, settle);
    }
  }

  /** What is asked of which server. */
  async #wanted(): Promise<Map<Member, Wanted>> {
    const { members, route } = this.#options;
    const uris = new Map<Member, Map<string, string>>();
    for (const asked of this.#filter.resourceSubscriptions ?? []) {
      for (const { member, uri } of await route(asked)) {
        const own = uris.get(member) ?? new Map<string, string>();
        uris.set(member, own.set(uri, asked));
      }
    }
    const wanted = new Map<Member, Wanted>();
    for (const member of members) {
      const filter: SubscriptionFilter = {};
      for (const { flag, capability } of CHANGES) if (this.#hasList(member, flag, capability)) filter[flag] = true;
      const outward = uris.get(member) ?? new Map<string, string>();
      if (outward.size > 0) filter.resourceSubscriptions = [...outward.keys()];
      const taskIds = (this.#filter.taskIds ?? []).flatMap((taskId) => {
        const split = splitTaskId(taskId);
        return split?.label === member.label ? [split.id] : [];
      });
      if (taskIds.length > 0) filter.taskIds = taskIds;
      if (Object.keys(filter).length > 0) wanted.set(member, { filter, outward });
    }
    return wanted;
  }

  /** A session hears by this of all that its servers say to it, so it listens to those, too, whose lists never change. */
  #hasList(member: Member, flag: (typeof CHANGES)[number]['flag'], name: string): boolean {
    if (this.#filter[flag] !== true) return false;
    return this.#exchange.caller.session !== undefined || this.#options.view.capabilities.tellsChanges(member, name);
  }

  /** Resolves when all servers have said what they do, or time is up. */
  async #allSettled(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.timeout);
    });
    await Promise.race([late, Promise.all([...this.#parts.values()].map(({ settled }) => settled))]);
    clearTimeout(timer);
  }

  /** @throws RpcError where nothing is left to listen to, for all that could do it refuse. */
  #checkRefused(): void {
    if (CHANGES.some(({ flag }) => this.#filter[flag])) return;
    const parts = [...this.#parts.values()];
    const refused = parts.find((part) => part.refused)?.refused;
    if (refused && parts.every((part) => part.refused)) throw refused;
  }

  /** What the fleet does is what any of its servers does; that lists change, it says by itself where servers come and go. */
  async #acknowledge(): Promise<void> {
    const honoured: SubscriptionFilter = {};
    for (const { flag } of CHANGES) if (this.#filter[flag]) honoured[flag] = true;
    const uris = new Set<string>();
    const tasks = new Set<string>();
    for (const [member, part] of this.#parts) {
      const names = this.#renamed(member, part.honoured);
      for (const uri of names.uris) uris.add(uri);
      for (const id of names.tasks) tasks.add(id);
    }
    // In the caller's order, and nothing that it did not ask for.
    const kept = this.#filter.resourceSubscriptions?.filter((uri) => uris.has(uri)) ?? [];
    const keptTasks = this.#filter.taskIds?.filter((id) => tasks.has(id)) ?? [];
    if (kept.length > 0) honoured.resourceSubscriptions = kept;
    if (keptTasks.length > 0) honoured.taskIds = keptTasks;
    await this.#exchange.notify(Notice.Acknowledged, { notifications: honoured });
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const [method, params] of waiting) void this.#say(method, params);
  }

  #renamed(member: Member, honoured: SubscriptionFilter | undefined): { uris: string[]; tasks: string[] } {
    const { taskId } = this.#options.renaming(member);
    const uris = stringsOf(honoured?.resourceSubscriptions).map((uri) => this.#outwardUri(member, uri));
    return { uris, tasks: stringsOf(honoured?.taskIds).map((id) => taskId(id)) };
  }

  #outwardUri(member: Member, uri: string): string {
    return this.#outward.get(member)?.get(uri) ?? this.#options.renaming(member).uri(uri);
  }

  /** Listens to one server, and again when it is lost. */
  async #keep(member: Member, { filter, outward }: Wanted, part: Part, settle: () => void): Promise<void> {
    const { members } = this.#options;
    const { signal } = part.controller;
    this.#outward.set(member, outward);
    let failures = 0;
    let first = true;
    while (!signal.aborted) {
      let acknowledgedAt: number | undefined;
      const whole = this.#exchange;
      const exchange = new PartExchange(whole, Method.Listen, { notifications: filter }, (method, params = {}) => {
        if (signal.aborted) return Promise.resolve();
        if (method !== Notice.Acknowledged) return this.#hear(member, method, params);
        if (acknowledgedAt !== undefined) return Promise.resolve();
        acknowledgedAt = performance.now();
        part.honoured = isObject(params['notifications']) ? params['notifications'] : {};
        // What was missed meanwhile nobody knows.
        if (!first || this.#waiting === undefined) this.#sayAllChanged(member, part.honoured);
        first = false;
        settle();
        members.answered(member);
        return Promise.resolve();
      });
      const stop = (): void => exchange.abort(new RpcError(CONNECTION_CLOSED, 'Nobody listens any more'));
      signal.addEventListener('abort', stop, { once: true });
      let graceful = false;
      const lost = await member.service(exchange).then(
        () => {
          graceful = acknowledgedAt !== undefined;
          return new RpcError(CONNECTION_CLOSED, 'the subscription has ended');
        },
        (error: unknown) => RpcError.from(error),
      );
      signal.removeEventListener('abort', stop);
      if (signal.aborted) break;
      if (acknowledgedAt === undefined && !PASSING.has(lost.code)) {
        part.refused = lost;
        break;
      }
      const stable = acknowledgedAt !== undefined && performance.now() - acknowledgedAt >= STABLE_AFTER;
      failures = stable ? 0 : failures + 1;
      first = false;
      // A server may end a subscription at any time, and is there all the same.
      if (!graceful) members.failed(member, Method.Listen, lost);
      if (acknowledgedAt === undefined) part.refused ??= lost;
      settle();
      if (failures > MAX_FAILURES) {
        members.warn(`the server ${JSON.stringify(member.name)} is not listened to any more: ${lost.message}`);
        break;
      }
      await pause(failures, signal);
      part.refused = undefined;
    }
    settle();
  }

  /** Takes what a server says. */
  #hear(member: Member, method: string, params: JsonObject): Promise<void> {
    const { view, renaming } = this.#options;
    for (const { notice, flag, kinds } of CHANGES) {
      if (method !== notice) continue;
      for (const kind of kinds) view.forget(kind, member);
      return this.#filter[flag] ? this.#say(method, params) : Promise.resolve();
    }
    if (method === Notice.ResourceUpdated && typeof params['uri'] === 'string')
      return this.#say(method, { ...params, uri: this.#outwardUri(member, params['uri']) });
    return this.#say(method, signed(member, method, renameNotice(params, renaming(member))));
  }

  #sayAllChanged(member: Member, honoured: SubscriptionFilter): void {
    for (const { flag, notice } of CHANGES) if (this.#filter[flag] && honoured[flag]) void this.#say(notice, undefined);
    for (const uri of this.#renamed(member, honoured).uris) void this.#say(Notice.ResourceUpdated, { uri });
  }

  /** Tells the caller, once the acknowledgement is out. */
  #say(method: string, params: JsonObject | undefined): Promise<void> {
    if (this.#over.signal.aborted) return Promise.resolve();
    if (this.#waiting === undefined) {
      const sent = this.#exchange.notify(method, params);
      // Whoever awaits it gets the error; the side that made the exchange reports it.
      sent.catch(() => {});
      return sent;
    }
    if (this.#waiting.length >= MAX_WAITING) this.#waiting.shift();
    this.#waiting.push([method, params]);
    return Promise.resolve();
  }
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
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
