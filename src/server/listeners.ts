import { inTurns, TurnQueue } from '../base/in-turns.ts';
import { isAborted, offAbort, onAbort } from '../core/base-exchange.ts';
import type { Exchange } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { constant } from '../jsonrpc/stringify.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { readFilter } from '../protocol/subscriptions.ts';
import type { DetailedTask } from '../protocol/tasks.ts';
import type { SubscriptionFilter } from '../protocol/types.ts';
import type { Bus } from '../store/bus.ts';
import type { LazyTasks } from './lazy-tasks.ts';
import type { Changes, SharedChanges } from './shared-changes.ts';
import { demandTasks } from './task-rules.ts';

/** The lists that can change, by their names in the filter and the capabilities. */
export type ListKind = 'tools' | 'prompts' | 'resources';

const CHANGED = {
  tools: NotificationMethod.ToolsListChanged,
  prompts: NotificationMethod.PromptsListChanged,
  resources: NotificationMethod.ResourcesListChanged,
} as const;
export const KINDS = Object.keys(CHANGED) as ListKind[];

/** Begins the keys of resources. */
const URI = 'uri ';

/** A notification to be sent. The state of a task may be large, so it is read only then: undefined `params` of a task. */
interface Due {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  readonly taskId?: string;
}

/** One open `subscriptions/listen`. There may be ten thousand of them, so it keeps as little as possible. */
class Listener {
  readonly exchange: Exchange;
  readonly filter: SubscriptionFilter;
  readonly #onend: (listener: Listener) => void;
  readonly #resolve: (result: JsonObject) => void;
  /** Notifications that wait for their turn, by key: at most one of each kind. */
  due: Map<string, Due> | undefined;
  /** Called at the end, if it follows tasks in other processes. */
  unfollow: (() => void)[] | undefined;
  /** Whether it waits until the acknowledgement or the previous notification is sent. */
  busy = false;
  open = true;

  constructor(
    exchange: Exchange,
    filter: SubscriptionFilter,
    onend: (listener: Listener) => void,
    resolve: (result: JsonObject) => void,
  ) {
    this.exchange = exchange;
    this.filter = filter;
    this.#onend = onend;
    this.#resolve = resolve;
    onAbort(exchange, this.#aborted);
  }

  readonly #aborted = (): void => {
    this.end();
    this.#resolve({});
  };

  end(): void {
    this.open = false;
    this.due = undefined;
    for (const unfollow of this.unfollow?.splice(0) ?? []) unfollow();
    offAbort(this.exchange, this.#aborted);
    this.#onend(this);
  }
}

/**
 * Listeners by the keys of their filters. There may be millions of keys, most of them with one listener. A set takes 200
 * bytes, so one listener is stored without a set.
 */
class Index {
  readonly #listeners = new Map<string, Listener | Set<Listener>>();

  add(key: string, listener: Listener): void {
    const known = this.#listeners.get(key);
    if (known instanceof Set) known.add(listener);
    else this.#listeners.set(key, known && known !== listener ? new Set([known, listener]) : listener);
  }

  delete(key: string, listener: Listener): void {
    const known = this.#listeners.get(key);
    if (known === listener || (known instanceof Set && known.delete(listener) && known.size === 0))
      this.#listeners.delete(key);
  }

  has(key: string): boolean {
    return this.#listeners.has(key);
  }

  keys(): Iterable<string> {
    return this.#listeners.keys();
  }

  of(key: string): Iterable<Listener> {
    const known = this.#listeners.get(key) ?? [];
    return known instanceof Listener ? [known] : known;
  }
}

/** The open `subscriptions/listen` exchanges of a server (2026-07-28, basic/patterns/subscriptions). */
export class Listeners {
  readonly #index = new Index();
  readonly #changed = new Set<ListKind>();
  /** The listeners that can be sent something now. There may be thousands, so they are sent to in turns. */
  readonly #ready = new TurnQueue<Listener>((listener) => this.#sendNext(listener));
  /** The listeners that are sent the state of a task next, one after the other. */
  readonly #readers = new TurnQueue<Listener>((listener) => this.#sendTask(listener));
  /** The state that was read last, while others wait to be sent a state. Many may subscribe to the same task. */
  #read: { readonly id: string; readonly principal: string | undefined; readonly task: JsonObject } | undefined;
  #taskChanges = 0;
  #tasks: LazyTasks | undefined;
  readonly #server: string;
  readonly #onerror: (error: Error) => void;
  /** The other processes, by the bus that reaches them, and the uses of it that have not ended. */
  readonly #others = new Map<Bus, { readonly changes: SharedChanges; readonly uses: Set<object> }>();

  /** @param server the name that the processes of one server have in common. */
  constructor(server: string, onerror: (error: Error) => void) {
    this.#server = server;
    this.#onerror = onerror;
  }

  /** Tells other processes what changes here, and listeners here what changes there. Resolves with a function that ends this. */
  async share(bus: Bus | undefined): Promise<() => void> {
    if (!bus) return () => {};
    const { SharedChanges } = await import('./shared-changes.ts');
    const hear = (changes: Changes): void => this.#hear(changes);
    const shared = this.#others.get(bus) ?? {
      changes: new SharedChanges(bus, this.#server, hear, this.#onerror),
      uses: new Set(),
    };
    this.#others.set(bus, shared);
    const use = {};
    shared.uses.add(use);
    return () => {
      // A listener may be closed twice.
      if (!shared.uses.delete(use) || shared.uses.size > 0) return;
      shared.changes.close();
      this.#others.delete(bus);
    };
  }

  /**
   * Registers the listener before it returns, sends the acknowledgement first, and resolves when the exchange's signal
   * fires.
   *
   * @param supported the lists that the server has.
   * @param tasks the server's tasks, if it has any.
   * @throws RpcError −32602 (rejects) if the filter is malformed or too large; −32021 if it names tasks and the caller
   * did not declare the extension; the underlying error if the acknowledgement could not be sent.
   */
  listen(exchange: Exchange, supported: ReadonlySet<ListKind>, tasks?: LazyTasks): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const filter = honoured(exchange.params['notifications'], supported, tasks !== undefined);
      // The tasks extension: Task Status Notifications.
      if (filter.taskIds) demandTasks(exchange.caller);
      if (isAborted(exchange)) {
        resolve({});
        return;
      }
      this.#tasks ??= tasks;
      const listener = new Listener(exchange, filter, this.#leave, resolve);
      for (const key of keysOf(filter)) this.#index.add(key, listener);
      const acknowledged = filter.taskIds
        ? this.#acknowledgeTasks(listener, filter.taskIds, tasks!)
        : exchange.notify(NotificationMethod.Acknowledged, { notifications: filter });
      acknowledged.catch((error: unknown) => {
        listener.end();
        reject(error);
      });
    });
  }

  /** Announces that a list has changed. All changes of one turn of the event loop make one notification. */
  changed(kind: ListKind): void {
    for (const { changes } of this.#others.values()) changes.listChanged(kind);
    this.#changedHere(kind);
  }

  /** Announces that a resource has changed. */
  updated(uri: string): void {
    for (const { changes } of this.#others.values()) changes.resourceUpdated(uri);
    this.#updatedHere(uriKey(uri));
  }

  #hear({ lists, uris }: Changes): void {
    for (const kind of KINDS) if (lists.includes(kind)) this.#changedHere(kind);
    const keys = uris === 'all' ? this.#index.keys() : uris.map(uriKey);
    void inTurns(keys, (key) => this.#updatedHere(key));
  }

  #changedHere(kind: ListKind): void {
    if (this.#changed.has(kind) || !this.#index.has(kind)) return;
    if (this.#changed.size === 0) queueMicrotask(() => this.#flush());
    this.#changed.add(kind);
  }

  #updatedHere(key: string): void {
    if (!key.startsWith(URI)) return;
    const due: Due = { method: NotificationMethod.ResourceUpdated, params: { uri: key.slice(URI.length) } };
    for (const listener of this.#index.of(key)) this.#deliver(listener, key, due);
  }

  /**
   * Announces that a task of this principal has changed.
   *
   * @param last its last state, if it is no longer stored.
   */
  readonly taskChanged = (principal: string | undefined, id: string, last?: DetailedTask): void => {
    this.#taskChanges += 1;
    this.#read = undefined;
    const key = taskKey(id);
    const due: Due = { method: NotificationMethod.Task, params: last && { ...last }, taskId: id };
    for (const listener of this.#index.of(key))
      if (listener.exchange.caller.principal === principal) this.#deliver(listener, key, due);
  };

  readonly #leave = (listener: Listener): void => {
    for (const key of keysOf(listener.filter)) this.#index.delete(key, listener);
  };

  /** Looks up the tasks first. Changes in the meantime are sent after the acknowledgement. */
  async #acknowledgeTasks(listener: Listener, ids: readonly string[], tasks: LazyTasks): Promise<void> {
    const { exchange, filter } = listener;
    listener.busy = true;
    const visible = await (await tasks.load()).visible(ids, exchange.caller);
    for (const { unfollow } of visible.values()) if (unfollow) (listener.unfollow ??= []).push(unfollow);
    if (!listener.open) return listener.end();
    for (const id of ids) if (!visible.has(id)) this.#index.delete(taskKey(id), listener);
    filter.taskIds = [...visible.keys()];
    if (visible.size === 0) delete filter.taskIds;
    // If a task has already ended or asks a question, there may be no further change: send its state now.
    for (const [id, { status }] of visible) {
      if (status !== 'working') this.#deliver(listener, taskKey(id), { method: NotificationMethod.Task, taskId: id });
    }
    await exchange.notify(NotificationMethod.Acknowledged, { notifications: filter });
    listener.busy = false;
    this.#ready.add(listener);
  }

  #flush(): void {
    const kinds = [...this.#changed];
    this.#changed.clear();
    for (const kind of kinds) {
      for (const listener of this.#index.of(kind)) this.#deliver(listener, kind, { method: CHANGED[kind] });
    }
  }

  /** Sends one at a time, so that at most one of each kind waits for a slow reader. */
  #deliver(listener: Listener, key: string, due: Due): void {
    (listener.due ??= new Map()).set(key, due);
    if (!listener.busy) this.#ready.add(listener);
  }

  #sendNext(listener: Listener): void {
    const [next] = listener.due?.values() ?? [];
    if (!next) return;
    listener.busy = true;
    if (next.taskId === undefined) void this.#send(listener, take(listener));
    else this.#readers.add(listener);
  }

  async #sendTask(listener: Listener): Promise<void> {
    const due = take(listener);
    const params = due?.params ?? (due && (await this.#stateOf(due.taskId!, listener.exchange.caller.principal)));
    if (this.#readers.size === 0) this.#read = undefined;
    // If the task is gone, so is the listener, or it has expired while the listener was slow.
    void this.#send(listener, params && due && { ...due, params });
  }

  async #stateOf(id: string, principal: string | undefined): Promise<JsonObject | undefined> {
    if (this.#read?.id === id && this.#read.principal === principal) return this.#read.task;
    const changes = this.#taskChanges;
    try {
      const state = await (await this.#tasks!.load()).state(id, principal);
      if (!state) return undefined;
      const task = { ...state, ...(state.result && { result: constant({ ...state.result }) }) };
      if (changes === this.#taskChanges) this.#read = { id, principal, task };
      return task;
    } catch {
      // The tasks report it.
      return undefined;
    }
  }

  /** @param due undefined if there is nothing to send after all. */
  async #send(listener: Listener, due: Due | undefined): Promise<void> {
    try {
      if (due && listener.open) await listener.exchange.notify(due.method, due.params);
    } catch {
      // The creator of the exchange reports a failure.
    }
    listener.busy = false;
    if (listener.due) this.#ready.add(listener);
  }
}

/** What a filter names: each list, each resource and each task. */
function* keysOf({ resourceSubscriptions = [], taskIds = [], ...lists }: SubscriptionFilter): Iterable<string> {
  for (const kind of KINDS) if (lists[`${kind}ListChanged`]) yield kind;
  for (const uri of resourceSubscriptions) yield uriKey(uri);
  for (const id of taskIds) yield taskKey(id);
}

function uriKey(uri: string): string {
  return URI + uri;
}

function taskKey(id: string): string {
  return `task ${id}`;
}

function take(listener: Listener): Due | undefined {
  const { due } = listener;
  if (!due) return undefined;
  for (const [key, next] of due) {
    due.delete(key);
    if (due.size === 0) listener.due = undefined;
    return next;
  }
  return undefined;
}

/** The part of the requested filter that this server supports. Tasks are filtered later. */
function honoured(asked: unknown, supported: ReadonlySet<ListKind>, tasks: boolean): SubscriptionFilter {
  const { resourceSubscriptions, taskIds, ...lists } = readFilter(asked);
  const filter: SubscriptionFilter = {};
  for (const kind of supported) if (lists[`${kind}ListChanged`]) filter[`${kind}ListChanged`] = true;
  if (supported.has('resources') && resourceSubscriptions) filter.resourceSubscriptions = resourceSubscriptions;
  if (tasks && taskIds) filter.taskIds = taskIds;
  return filter;
}
