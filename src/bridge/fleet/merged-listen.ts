import type { Exchange } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { Notice } from '../../protocol/methods.ts';
import { changesOf } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { CHANGES } from './kinds.ts';
import { signed, type FleetMember, type Members } from './members.ts';
import { renameNotice, type Renaming } from './results.ts';
import { ServerListen, type Wanted } from './server-listen.ts';
import { splitTaskId } from './tasks.ts';
import type { View } from './view.ts';

/** What is said before all servers have acknowledged waits; the oldest goes where it is more. */
const MAX_WAITING = 1000;

export interface MergedListenOptions {
  readonly members: Members;
  /** Of the caller, as it is at the time. */
  readonly view: () => View;
  /** Milliseconds that a server may take to acknowledge before the others' is passed on without. */
  readonly timeout: number;
  /** The servers that a URI may be of, each with what it is there. */
  readonly route: (uri: string) => Promise<readonly { readonly member: FleetMember; readonly uri: string }[]>;
  readonly renaming: (member: FleetMember) => Renaming;
}

/** One `subscriptions/listen`, served by as many of the servers. One that is lost is listened to again; the others go on. */
export class MergedListen {
  readonly #exchange: Exchange;
  readonly #filter: SubscriptionFilter;
  readonly #options: MergedListenOptions;
  readonly #parts = new Map<FleetMember, ServerListen>();
  /** Those that go on until what takes their place is acknowledged. */
  readonly #replaced = new Map<FleetMember, ServerListen>();
  readonly #over = new AbortController();
  /** Finds out what is wanted of which server. */
  #opening: Promise<void> | undefined;
  /** The servers are others than when it began to. */
  #outdated = false;
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
    for (const parts of [this.#parts, this.#replaced]) {
      for (const part of parts.values()) part.stop();
      parts.clear();
    }
  }

  /** All lists that are listened to have changed. */
  changed(): void {
    for (const { flag, notice } of CHANGES) if (this.#filter[flag]) void this.#say(notice, undefined);
  }

  /** The servers are others now. */
  update(): void {
    for (const member of this.#parts.keys()) if (!this.#options.members.has(member)) this.#stop(member);
    this.#open().catch(() => {});
    this.changed();
  }

  /** Listens to those that are not listened to so far, and otherwise to those of which something else is wanted now. */
  #open(): Promise<void> {
    this.#outdated = true;
    this.#opening ??= this.#openAll();
    return this.#opening;
  }

  async #openAll(): Promise<void> {
    try {
      while (this.#outdated && !this.#over.signal.aborted) {
        this.#outdated = false;
        this.#apply(await this.#wanted());
      }
    } finally {
      // Not later: what comes after the last look has to look for itself.
      this.#opening = undefined;
    }
  }

  #apply(wanted: ReadonlyMap<FleetMember, Wanted>): void {
    if (this.#over.signal.aborted) return;
    for (const member of this.#options.members) {
      const [asked, part] = [wanted.get(member), this.#parts.get(member)];
      if (part?.suffices(asked)) continue;
      if (asked) this.#listen(member, asked);
      else this.#stop(member);
    }
  }

  #listen(member: FleetMember, wanted: Wanted): void {
    const before = this.#parts.get(member);
    // Nothing is lost between the two.
    if (before && this.#replaced.has(member)) before.stop();
    else if (before) this.#replaced.set(member, before);
    const part = new ServerListen(this.#exchange, member, wanted, {
      members: this.#options.members,
      onnotice: (...said) => this.#hear(...said),
      onacknowledged: (which, again) => {
        if (this.#parts.get(member) === which) {
          this.#replaced.get(member)?.stop();
          this.#replaced.delete(member);
        }
        // What was missed meanwhile nobody knows.
        if (again || this.#waiting === undefined) this.#sayAllChanged(which);
      },
      onend: (which) => {
        const former = this.#replaced.get(member);
        if (!former || this.#parts.get(member) !== which) return;
        this.#parts.set(member, former);
        this.#replaced.delete(member);
      },
    });
    this.#parts.set(member, part);
    void part.run();
  }

  #stop(member: FleetMember): void {
    for (const parts of [this.#parts, this.#replaced]) {
      parts.get(member)?.stop();
      parts.delete(member);
    }
  }

  /** What is asked of which server. */
  async #wanted(): Promise<Map<FleetMember, Wanted>> {
    const { members, route } = this.#options;
    const uris = new Map<FleetMember, Map<string, string>>();
    for (const asked of this.#filter.resourceSubscriptions ?? []) {
      for (const { member, uri } of await route(asked)) {
        const own = uris.get(member) ?? new Map<string, string>();
        uris.set(member, own.set(uri, asked));
      }
    }
    const wanted = new Map<FleetMember, Wanted>();
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
  #hasList(member: FleetMember, flag: (typeof CHANGES)[number]['flag'], name: string): boolean {
    if (this.#filter[flag] !== true) return false;
    return this.#exchange.caller.session !== undefined || this.#options.view().capabilities.tellsChanges(member, name);
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
    for (const part of this.#parts.values()) {
      const names = this.#renamed(part);
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

  /** What a server does, in the caller's words. */
  #renamed(part: ServerListen): { uris: string[]; tasks: string[] } {
    const { taskId } = this.#options.renaming(part.member);
    const uris = stringsOf(part.honoured?.resourceSubscriptions).map((uri) => this.#outwardUri(part, uri));
    return { uris, tasks: stringsOf(part.honoured?.taskIds).map((id) => taskId(id)) };
  }

  #outwardUri(part: ServerListen, uri: string): string {
    return part.asked(uri) ?? this.#options.renaming(part.member).uri(uri);
  }

  /** Takes what a server says. */
  #hear(part: ServerListen, method: string, params: JsonObject): Promise<void> {
    const { member } = part;
    const { view, renaming } = this.#options;
    for (const { notice, flag, kinds } of CHANGES) {
      if (method !== notice) continue;
      for (const kind of kinds) view().forget(kind, member);
      return this.#filter[flag] ? this.#say(method, params) : Promise.resolve();
    }
    if (method === Notice.ResourceUpdated && typeof params['uri'] === 'string')
      return this.#say(method, { ...params, uri: this.#outwardUri(part, params['uri']) });
    return this.#say(method, signed(member, method, renameNotice(params, renaming(member))));
  }

  #sayAllChanged(part: ServerListen): void {
    const changed: SubscriptionFilter = { resourceSubscriptions: this.#renamed(part).uris };
    for (const { flag } of CHANGES) if (this.#filter[flag] && part.honoured?.[flag]) changed[flag] = true;
    for (const [method, params] of changesOf(changed)) void this.#say(method, params);
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
