import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { BreakpointState, Rule, RuleAction } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import { parseFilter } from '../../src/inspect/filter/parse.ts';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { Server } from '../server/server.ts';
import { toast } from '../ui/toast.tsx';
import type { WireRecord } from '../wire/wire-record.ts';

/** The form for a rule while the user fills it in. */
export interface RuleDraft {
  /** The rule that it replaces. Undefined for a new one. */
  readonly id: Signal<number | undefined>;
  readonly filter: Signal<string>;
  readonly type: Signal<RuleAction['type']>;
  /** Milliseconds, bytes or a status. */
  readonly amount: Signal<string>;
  readonly nth: Signal<string>;
  /** Why it was refused. */
  readonly problem: Signal<string | undefined>;
}

/** What the page knows about breakpoints, and what it does with them. */
export class BreakpointView {
  readonly server: Server;
  readonly draft: RuleDraft = {
    id: signal<number | undefined>(undefined),
    filter: signal(''),
    type: signal<RuleAction['type']>('hold'),
    amount: signal(''),
    nth: signal(''),
    problem: signal<string | undefined>(undefined),
  };
  readonly #state: ReadonlySignal<InspectorState>;
  readonly #show: () => void;

  /** @param show shows the screen of breakpoints. */
  constructor(server: Server, state: ReadonlySignal<InspectorState>, show: () => void) {
    this.server = server;
    this.#state = state;
    this.#show = show;
  }

  /** Undefined if nothing passes that could be held. */
  get state(): BreakpointState | undefined {
    return this.#state.value.breakpoints;
  }

  /** Whether a message can be sent again: the page has a connection. */
  get canResend(): boolean {
    const { role, connection } = this.#state.value;
    return role === 'client' && connection.status === 'connected';
  }

  /** The file that rules can be saved in. Undefined if there is no file or no server. */
  get savedFile(): string | undefined {
    const { saved, connection } = this.#state.value;
    return connection.status === 'idle' ? undefined : saved?.file;
  }

  /** How many messages wait for the user. */
  get waiting(): number {
    return this.state?.held.filter(({ state }) => state === 'held').length ?? 0;
  }

  /** Sets the rule of the form. */
  async setRule(): Promise<void> {
    const { id, filter, type, amount, nth, problem } = this.draft;
    const number = nth.value.trim() === '' ? undefined : Number(nth.value);
    const action = actionOf(type.value, Number(amount.value));
    const enabled = this.state?.rules.find((rule) => rule.id === id.value)?.enabled ?? true;
    try {
      parseFilter(filter.value);
      await this.server.send('setRule', { id: id.value, filter: filter.value, action, enabled, nth: number });
      this.clear();
    } catch (error) {
      problem.value = (error as Error).message;
    }
  }

  clear(): void {
    const { id, filter, type, amount, nth, problem } = this.draft;
    id.value = undefined;
    filter.value = amount.value = nth.value = '';
    type.value = 'hold';
    problem.value = undefined;
  }

  edit({ id, filter, action, nth }: Rule): void {
    const { draft } = this;
    draft.id.value = id;
    draft.filter.value = filter;
    draft.type.value = action.type;
    draft.amount.value = amountOf(action);
    draft.nth.value = nth === undefined ? '' : String(nth);
    draft.problem.value = undefined;
  }

  switchRule({ id, filter, action, nth }: Rule, enabled: boolean): void {
    this.run(this.server.send('setRule', { id, filter, action, nth, enabled }));
  }

  /** Holds messages like a record from now on, and shows the rule. */
  breakOn(record: WireRecord): void {
    const rule = { filter: filterFor(record), action: { type: 'hold' }, enabled: true } as const;
    this.run(this.server.send('setRule', rule).then(this.#show));
  }

  /** Shows why a command was refused. */
  run(command: Promise<unknown>): void {
    command.catch((error: unknown) => toast((error as Error).message));
  }
}

/** The action of the form. An amount that is not a number is refused by the server, which says why. */
function actionOf(type: RuleAction['type'], amount: number): RuleAction {
  if (type === 'delay') return { type, ms: amount };
  if (type === 'cut') return { type, bytes: amount };
  if (type === 'status') return { type, status: amount as 404 | 500 };
  return { type };
}

function amountOf(action: RuleAction): string {
  if (action.type === 'delay') return String(action.ms);
  if (action.type === 'cut') return String(action.bytes);
  return action.type === 'status' ? String(action.status) : '';
}

/** A filter for messages like a record: the same direction, kind, method and tool. */
export function filterFor({ dir, kind, method, spans: [span] }: WireRecord): string {
  const tool = method === undefined || method === span?.method ? span?.tool : undefined;
  const terms = { method: method ?? span?.method, tool, kind, dir };
  return Object.entries(terms)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}:${quoted(value!)}`)
    .join(' ');
}

/** A value that stands for itself in a filter. */
function quoted(value: string): string {
  return /^[\w./>:-]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}
