import type { FilterSubject } from '../filter/subject.ts';
import { CommandRefused } from '../page-server/command-refused.ts';
import type { BreakpointControl, BreakpointState, HeldMessage, HeldText, Rule, RuleAction } from './breakpoint-api.ts';
import { Lanes, type Waiting } from './lanes.ts';
import { MAX_DELAY, Rules, type NewRule } from './rules.ts';

/** A message on its way. */
export interface PassingMessage extends Pick<
  HeldMessage,
  'dir' | 'kind' | 'method' | 'tool' | 'messageId' | 'client' | 'asked' | 'expires'
> {
  /** Messages with the same one keep their order in each direction: the session, or what else identifies the sender. */
  readonly order: unknown;
  /** The call that a message of the server belongs to. A message that is delayed delays only those of its call. */
  readonly call?: object | undefined;
  /** An estimate, in bytes. */
  size(): number;
  /** What its text stands for. */
  readonly content: object;
  /** @throws CommandRefused if it has no text. */
  text(): string;
  /** Returns the content that a text stands for. @throws CommandRefused if it cannot be sent. */
  parse(text: string): unknown;
  /** The same for an answer to a request. Undefined if the message is not a request. */
  readonly parseAnswer?: ((text: string) => unknown) | undefined;
  /** How long its request took, in microseconds. Undefined if it is not an answer. */
  readonly dur?: number | undefined;
  /** Whether it is no message: no rule matches it, and it only keeps its place in the order. Default no. */
  readonly isOpaque?: boolean | undefined;
}

/** What becomes of a message. */
export type Decision =
  /** It goes on, with another content if there is one. `twice`: it is sent twice. `kills`: then the server is killed. */
  | { readonly type: 'forward'; readonly content?: unknown; readonly twice?: boolean; readonly kills?: boolean }
  /** Its sender gets this answer. */
  | { readonly type: 'answer'; readonly content: unknown }
  /** It is not sent on. */
  | { readonly type: 'drop' };

/** A message whose way is not decided yet. */
export interface Passage {
  /**
   * Calls a function with the decision, once, before anything behind the message goes on. If the passage is cancelled,
   * it drops the message.
   */
  decided(then: (decision: Decision) => void): void;
  /** The sender or the receiver of the message gave up. */
  cancel(reason: string): void;
  /** Lets the message go on as soon as nothing is before it, whatever its rule says. */
  release(): void;
}

export interface BreakpointsOptions {
  /** What rules can do here, apart from `kill`. */
  readonly actions: readonly Exclude<RuleAction['type'], 'kill'>[];
  /** Kills the process of the server. Undefined if there is none. */
  readonly kill?: (() => void) | undefined;
}

/** The most messages that a rule can hold, and the most that can wait with those behind them, also in bytes. */
const MAX_HELD = 100;
const MAX_WAITING = 1000;
const MAX_SIZE = 16 * 1024 * 1024;
/** How many cancelled messages are shown, and how many programs are remembered that gave up. */
const MAX_CANCELLED = 20;
const MAX_CLIENTS = 100;

/** How much of a text from a peer is shown, in UTF-16 code units. Each change of the state repeats it. */
const MAX_TEXT = 200;

type Shown = Omit<HeldMessage, 'behind'>;

interface Entry extends Waiting {
  readonly message: PassingMessage;
  readonly size: number;
  /** The key of the lane that it waits in. */
  readonly lane: unknown;
  readonly settled: Settled;
  decision: Decision;
  /** How the page sees it. Undefined if it only waits for others. */
  shown?: Shown | undefined;
  timer?: ReturnType<typeof setTimeout> | undefined;
}

/** Holds messages, or lets them go on otherwise than they came, by the rules of the user. */
export class Breakpoints implements BreakpointControl {
  onchange: (() => void) | undefined;
  readonly #rules: Rules;
  readonly #actions: readonly RuleAction['type'][];
  readonly #kill: (() => void) | undefined;
  readonly #lanes = new Lanes<Entry>();
  readonly #orders = new OrderKeys();
  /** All messages that wait, and those of them that the page shows. */
  readonly #entries = new Set<Entry>();
  readonly #held = new Map<number, Entry>();
  #size = 0;
  #cancelled: readonly Shown[] = [];
  /** After how many milliseconds a program gave up a held message the last time. */
  readonly #patience = new Map<string, number>();
  #missed = 0;
  #last = 0;
  #watched = false;

  constructor({ actions, kill }: BreakpointsOptions) {
    this.#actions = kill ? [...actions, 'kill'] : actions;
    this.#kill = kill;
    this.#rules = new Rules(this.#actions, () => this.#changed());
  }

  get state(): BreakpointState {
    const held = Array.from(this.#held.values(), (entry): HeldMessage => {
      return { ...entry.shown!, behind: this.#lanes.behind(entry.lane, entry) };
    });
    const cancelled = this.#cancelled.map((shown): HeldMessage => ({ ...shown, behind: 0 }));
    const both = [...cancelled, ...held].toSorted((a, b) => a.id - b.id);
    return { actions: this.#actions, rules: this.#rules.list, held: both, missed: this.#missed };
  }

  watched(watched: boolean): void {
    this.#watched = watched;
    // A delay ends by itself. Nobody would let the others go on.
    if (!watched)
      for (const entry of [...this.#held.values()]) if (entry.shown?.action !== 'delay') this.#release(entry);
  }

  /** Whether no message can be acted on until a page is opened, which may add a rule. */
  get isIdle(): boolean {
    return !this.#watched && !this.#rules.acts && this.#entries.size === 0;
  }

  /** Whether a rule may act on the next message, or messages wait. */
  get isActive(): boolean {
    return this.#rules.acts || this.#rules.actsOnResponses || this.#entries.size > 0;
  }

  /** Whether rules may act on the responses to requests. */
  get actsOnResponses(): boolean {
    return this.#rules.actsOnResponses;
  }

  /** What to do with the response to a request, on the wire. */
  matchResponse(
    message: Pick<PassingMessage, 'kind' | 'method' | 'tool' | 'content' | 'text'>,
  ): RuleAction | undefined {
    return this.#rules.match(subjectOf({ dir: 'c>s', ...message }), true)?.action;
  }

  /** Called with each message. Undefined if it goes on at once, as it is. */
  pass(make: () => PassingMessage): Passage | undefined {
    const { acts } = this.#rules;
    if (!acts && this.#entries.size === 0) return undefined;
    const message = make();
    const rule = acts && !message.isOpaque ? this.#rules.match(subjectOf(message), false) : undefined;
    const type = rule?.action.type;
    if (type === 'drop') return decided({ type: 'drop' });
    const twice = type === 'duplicate' && (message.kind === 'request' || message.kind === 'notification');
    const kills = type === 'kill';
    const forward: Decision = { type: 'forward', twice, kills };
    const goesOn = (): Passage | undefined => (twice || kills ? decided(forward) : undefined);
    const holds = type === 'reorder' || type === 'delay' || (type === 'hold' && this.#watched);
    if (!holds && !this.#mustWait(message)) return goesOn();
    const size = message.size();
    if (this.#entries.size >= MAX_WAITING || this.#size + size > MAX_SIZE || (holds && this.#held.size >= MAX_HELD)) {
      this.#missed += 1;
      this.#changed();
      return goesOn();
    }
    return this.#wait(message, size, forward, holds ? rule : undefined);
  }

  /** Kills the process of the server, once what goes on now was written to it. */
  kill(): void {
    if (this.#kill) setImmediate(this.#kill);
  }

  #mustWait({ call, order, dir }: PassingMessage): boolean {
    return !this.#lanes.isEmpty(this.#orders.key(order, dir)) || (call !== undefined && !this.#lanes.isEmpty(call));
  }

  /**
   * A message goes through the lane of its call, where messages are delayed, and then through the lane of its order and
   * direction, where they are held.
   *
   * @param rule what holds it. Undefined if it only waits for others.
   */
  #wait(message: PassingMessage, size: number, forward: Decision, rule: Rule | undefined): Passage {
    const settled = new Settled();
    const { call } = message;
    const last = this.#orders.key(message.order, message.dir);
    let current: Entry;
    const enter = (lane: unknown, decision: Decision, held: Rule | undefined, next: (entry: Entry) => void): void => {
      current = {
        ...{ message, size, lane, settled, decision, ready: held === undefined },
        yields: held?.action.type === 'reorder',
        onward: () => next(entry),
      };
      const entry = current;
      this.#entries.add(entry);
      this.#size += size;
      if (held) this.#show(entry, held);
      this.#lanes.add(lane, entry);
      this.#changed();
    };
    const isDelayed = rule?.action.type === 'delay';
    const finish = (entry: Entry): void => this.#settle(entry, entry.decision);
    const toLast = (entry: Entry): void => {
      const held = isDelayed ? undefined : rule;
      if (!held && this.#lanes.isEmpty(last)) return finish(entry);
      this.#forget(entry);
      enter(last, entry.decision, held, finish);
      this.#lanes.flush(last);
    };
    if (isDelayed || (call !== undefined && !this.#lanes.isEmpty(call)))
      enter(call ?? {}, forward, isDelayed ? rule : undefined, toLast);
    else enter(last, forward, rule, finish);
    return {
      decided: (then) => {
        settled.whenSettled(then);
        // Not before: those behind it must not go on first.
        this.#lanes.flush(current.lane);
      },
      cancel: (reason) => this.#cancel(current, reason),
      release: () => {
        while (this.#entries.has(current) && current.shown?.state === 'held') this.#release(current);
      },
    };
  }

  #show(entry: Entry, { id, action }: Rule): void {
    const { dir, kind, client, expires, asked } = entry.message;
    const method = entry.message.method.slice(0, MAX_TEXT);
    const tool = entry.message.tool?.slice(0, MAX_TEXT);
    const messageId = entry.message.messageId?.slice(0, MAX_TEXT);
    this.#last += 1;
    const since = Date.now();
    entry.shown = {
      ...{ id: this.#last, rule: id, action: action.type as Shown['action'], dir, kind, method, tool, client },
      ...{ messageId, state: 'held', asked, since, expires, until: undefined },
      patience: client === undefined ? undefined : this.#patience.get(client),
    };
    this.#held.set(this.#last, entry);
    if (action.type === 'delay') this.#goLater(entry, action.ms);
  }

  #goLater(entry: Entry, ms: number): void {
    clearTimeout(entry.timer);
    entry.shown = { ...entry.shown!, until: Date.now() + ms };
    entry.timer = setTimeout(() => this.#release(entry), ms);
  }

  /** It goes on as soon as nothing is before it. */
  #release(entry: Entry, decision = entry.decision): void {
    clearTimeout(entry.timer);
    entry.decision = decision;
    entry.ready = true;
    entry.yields = false;
    entry.shown = { ...entry.shown!, state: 'leaving', until: undefined };
    this.#lanes.flush(entry.lane);
    this.#changed();
  }

  /** It is not sent on, so it need not wait for its turn. */
  #takeOut(entry: Entry, decision: Decision): void {
    this.#settle(entry, decision);
    this.#lanes.remove(entry.lane, entry);
  }

  #settle(entry: Entry, decision: Decision): void {
    this.#forget(entry);
    entry.settled.settle(decision);
  }

  #cancel(entry: Entry, reason: string): void {
    if (!this.#entries.has(entry)) return;
    const { shown, message } = entry;
    this.#takeOut(entry, { type: 'drop' });
    if (!shown) return;
    const at = Date.now();
    if (shown.client !== undefined) this.#learn(shown.client, at - message.asked);
    const cancelled: Shown = {
      ...shown,
      state: 'cancelled',
      until: undefined,
      ended: { at, reason: reason.slice(0, MAX_TEXT) },
    };
    this.#cancelled = [...this.#cancelled, cancelled].slice(-MAX_CANCELLED);
    this.#changed();
  }

  #learn(client: string, patience: number): void {
    this.#patience.delete(client);
    this.#patience.set(client, patience);
    const [oldest] = this.#patience.keys();
    if (this.#patience.size > MAX_CLIENTS) this.#patience.delete(oldest!);
  }

  #forget(entry: Entry): void {
    if (!this.#entries.delete(entry)) return;
    clearTimeout(entry.timer);
    this.#size -= entry.size;
    if (entry.shown) this.#held.delete(entry.shown.id);
    this.#changed();
  }

  #changed(): void {
    this.onchange?.();
  }

  setRule(rule: Parameters<BreakpointControl['setRule']>[0]): void {
    this.#rules.set(rule);
    this.#changed();
  }

  /** Adds rules after those that are set. @throws CommandRefused if one of them can never act. Then none is added. */
  addRules(rules: readonly NewRule[]): void {
    this.#rules.add(rules);
    this.#changed();
  }

  removeRule({ id }: { readonly id: number }): void {
    this.#rules.remove(id);
    this.#changed();
  }

  heldMessage({ id, max }: Parameters<BreakpointControl['heldMessage']>[0]): HeldText {
    const text = this.#get(id).message.text();
    return { text: text.slice(0, max), length: text.length };
  }

  forwardHeld({ id, text }: { readonly id: number; readonly text?: string | undefined }): void {
    const entry = this.#get(id);
    if (text === undefined) this.#release(entry);
    else this.#release(entry, { ...entry.decision, type: 'forward', content: entry.message.parse(text) });
  }

  forwardAllHeld(): void {
    for (const entry of [...this.#held.values()]) this.#release(entry);
  }

  dropHeld({ id }: { readonly id: number }): void {
    this.#takeOut(this.#get(id), { type: 'drop' });
  }

  delayHeld({ id, ms }: { readonly id: number; readonly ms: number }): void {
    if (ms > MAX_DELAY) throw new CommandRefused(400, `A message can be delayed by at most ${MAX_DELAY} ms.`);
    this.#goLater(this.#get(id), ms);
    this.#changed();
  }

  answerHeld({ id, text }: { readonly id: number; readonly text: string }): void {
    const entry = this.#get(id);
    const { parseAnswer } = entry.message;
    if (!parseAnswer) throw new CommandRefused(409, 'Only a request can be answered.');
    this.#takeOut(entry, { type: 'answer', content: parseAnswer(text) });
  }

  dismissHeld({ id }: { readonly id: number }): void {
    this.#cancelled = this.#cancelled.filter((shown) => shown.id !== id);
    this.#changed();
  }

  /** @throws CommandRefused if the message does not wait for the user any more. */
  #get(id: number): Entry {
    const entry = this.#held.get(id);
    if (entry?.shown?.state === 'held') return entry;
    const { ended } = this.#cancelled.find((shown) => shown.id === id) ?? {};
    throw new CommandRefused(
      409,
      ended ? `The message was cancelled: ${ended.reason}` : 'The message was already passed on.',
    );
  }
}

/** A key for each direction of what keeps its order. */
class OrderKeys {
  readonly #objects = new WeakMap<object, Record<PassingMessage['dir'], object>>();

  key(order: unknown, dir: PassingMessage['dir']): unknown {
    if (typeof order !== 'object' || order === null) return `${dir} ${String(order)}`;
    let keys = this.#objects.get(order);
    if (!keys) this.#objects.set(order, (keys = { 'c>s': {}, 's>c': {} }));
    return keys[dir];
  }
}

/** A decision, once it is made. Unlike a promise, it calls its listener at once. */
class Settled {
  #decision: Decision | undefined;
  #listener: ((decision: Decision) => void) | undefined;

  settle(decision: Decision): void {
    this.#decision = decision;
    this.#listener?.(decision);
  }

  whenSettled(listener: (decision: Decision) => void): void {
    if (this.#decision) listener(this.#decision);
    else this.#listener = listener;
  }
}

function decided(decision: Decision): Passage {
  return { decided: (then) => then(decision), cancel: () => {}, release: () => {} };
}

/** A message as a filter sees it. */
function subjectOf(
  message: Pick<PassingMessage, 'dir' | 'kind' | 'method' | 'tool' | 'dur' | 'content' | 'text'>,
): FilterSubject {
  const { dir, kind, method, tool, dur, content } = message;
  let known: string | undefined;
  const text = (): string | undefined => {
    try {
      return (known ??= message.text());
    } catch (error) {
      if (error instanceof CommandRefused) return undefined;
      throw error;
    }
  };
  return {
    ...{ layer: 'message', dir, kind, method, tool, dur, text, json: content },
    get size() {
      return Buffer.byteLength(text() ?? '');
    },
  };
}
