import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import type { Server } from '../server/server.ts';
import { Notices } from '../asked/notices.ts';
import type { Wire } from '../wire/wire.ts';
import { EntryList, LISTS, type ListName } from './entry-list.ts';
import { sendRequest, type Sent } from './request.ts';
import { SavedList } from './saved-list.ts';
import { FollowedTask, taskOf } from './task.ts';

/** The panes of the screen. */
export const PANES = ['Tools', 'Resources', 'Templates', 'Prompts', 'Saved', 'Server'] as const;
export type Pane = (typeof PANES)[number];

/** The most requests that are kept: of one entry, and of all. */
const MAX_CALLS = 20;
const MAX_ALL_CALLS = 100;
const MAX_TASKS = 100;

/** The most drafts that are kept. */
const MAX_DRAFTS = 500;

/** What the user has typed but not sent, kept while another screen is shown. */
export class Drafts {
  readonly #drafts = new Map<string, unknown>();

  /** The draft with this key, or what `create` makes. */
  get<T>(key: string, create: () => T): T {
    const draft = this.#drafts.has(key) ? (this.#drafts.get(key) as T) : create();
    // The most recently used draft is the last in the map.
    this.#drafts.delete(key);
    this.#drafts.set(key, draft);
    const [oldest] = this.#drafts.keys();
    if (this.#drafts.size > MAX_DRAFTS) this.#drafts.delete(oldest!);
    return draft;
  }
}

/** Connects the screens `Explore` and `Asked` to this page's server. There is one for the page. */
export class Explorer {
  readonly server: Server;
  readonly state: ReadonlySignal<InspectorState>;
  readonly wire: Wire;
  /** Shows a screen of the page. */
  readonly show: (screen: 'Explore' | 'Wire' | 'Asked') => void;
  readonly notices: Notices;
  /** Shows a record in `Wire`. */
  readonly showRecord: (n: number) => void;
  /** Undefined while there is no connection. */
  readonly session: ReadonlySignal<Session | undefined>;
  /** What was typed for each question. */
  readonly drafts = new Drafts();

  constructor(server: Server, state: ReadonlySignal<InspectorState>, wire: Wire, show: Explorer['show']) {
    this.server = server;
    this.state = state;
    this.wire = wire;
    this.show = show;
    this.notices = new Notices(wire);
    this.showRecord = (n) => {
      wire.view.update();
      wire.view.reveal(n);
      show('Wire');
    };
    const session = signal<Session | undefined>(undefined);
    this.session = session;
    // The attempts do not change while the connection lasts, and have record numbers of their own.
    const connection = computed(() => {
      const { target, connection: now } = state.value;
      return now.status === 'connected' ? JSON.stringify([target, now.revision, now.attempts]) : undefined;
    });
    effect(() => {
      const next = connection.value === undefined ? undefined : new Session(server, wire.store);
      session.peek()?.end();
      session.value = next;
    });
  }
}

/** What the page knows about one connection to a server. */
export class Session {
  readonly pane = signal<Pane>('Tools');
  readonly saved: SavedList;
  readonly lists: Readonly<Record<ListName, EntryList>>;
  /** The entry that each list shows. */
  readonly chosen: Readonly<Record<ListName, Signal<string | undefined>>>;
  readonly searches: Readonly<Record<ListName, Signal<string>>>;
  readonly tasks: ReadonlySignal<readonly FollowedTask[]>;
  readonly #tasks = signal<readonly FollowedTask[]>([]);
  readonly #calls = new Map<string, Signal<readonly Sent[]>>();
  /** What was typed for each entry. */
  readonly drafts = new Drafts();
  readonly #server: Server;
  readonly #store: Wire['store'];

  constructor(server: Server, store: Wire['store']) {
    this.#server = server;
    this.#store = store;
    this.saved = new SavedList(server);
    this.tasks = this.#tasks;
    const request = (method: string, params: JsonObject): Sent['settled'] => this.send(method, params).settled;
    this.lists = each((name) => new EntryList(LISTS[name], request));
    this.chosen = each(() => signal<string | undefined>(undefined));
    this.searches = each(() => signal(''));
  }

  /** Sends a request that is not kept. */
  send(method: string, params: JsonObject | string, timeout?: number): Sent {
    return sendRequest(this.#server, this.#store.newest, method, params, timeout);
  }

  /** Sends a request for an entry, and keeps it. A task that it becomes is followed. */
  call(entry: string, method: string, params: JsonObject | string, timeout?: number): Sent {
    const sent = this.send(method, params, timeout);
    const calls = this.#callsOf(entry);
    calls.value = [sent, ...calls.value].slice(0, MAX_CALLS);
    this.#forgetOldest();
    void sent.settled.then((outcome) => {
      if (outcome.kind === 'result' && taskOf(outcome.result)) this.#follow(outcome.result, entry);
    });
    return sent;
  }

  /** The kept requests of an entry, the newest first. */
  calls(entry: string): ReadonlySignal<readonly Sent[]> {
    return this.#callsOf(entry);
  }

  /** Opens an entry. */
  open(name: ListName, id: string): void {
    batch(() => {
      this.pane.value = name;
      this.chosen[name].value = id;
    });
  }

  task(result: JsonObject): FollowedTask | undefined {
    const id: unknown = taskOf(result)?.['taskId'];
    return this.#tasks.value.find((task) => task.id === id);
  }

  /** Stops its work in the background. */
  end(): void {
    for (const task of this.#tasks.value) task.stop();
  }

  #callsOf(entry: string): Signal<readonly Sent[]> {
    let calls = this.#calls.get(entry);
    if (!calls) this.#calls.set(entry, (calls = signal<readonly Sent[]>([])));
    return calls;
  }

  #forgetOldest(): void {
    const all = [...this.#calls.values()].flatMap((calls) => calls.peek().map((sent) => ({ calls, sent })));
    const oldest = all.toSorted((a, b) => a.sent.started - b.sent.started).slice(0, -MAX_ALL_CALLS);
    for (const { calls, sent } of oldest) calls.value = calls.peek().filter((kept) => kept !== sent);
  }

  #follow(result: JsonObject, entry: string): void {
    const send = (method: string, params: JsonObject, timeout?: number): Sent => this.send(method, params, timeout);
    const task = new FollowedTask(result, entry, send);
    const [forgotten] = this.#tasks.value.slice(MAX_TASKS - 1);
    forgotten?.stop();
    this.#tasks.value = [task, ...this.#tasks.value].slice(0, MAX_TASKS);
  }
}

function each<T>(create: (name: ListName) => T): Record<ListName, T> {
  return {
    Tools: create('Tools'),
    Resources: create('Resources'),
    Templates: create('Templates'),
    Prompts: create('Prompts'),
  };
}
