import { FilterError, KEY, parseFilter, type Predicate } from '../filter/parse.ts';
import type { FilterSubject } from '../filter/subject.ts';
import { tokensOf } from '../filter/tokens.ts';
import { CommandRefused } from '../page-server/command-refused.ts';
import type { BreakpointCommands, Rule, RuleAction } from './breakpoint-api.ts';

/** The most rules at a time. */
const MAX_RULES = 100;
/** The longest time for which a message can be delayed, in milliseconds. */
export const MAX_DELAY = 3_600_000;
/** What a filter of the wire can test, but not before a message is on the wire. */
const OF_RECORDS: ReadonlySet<string> = new Set(['layer', 'conn', 'id', 'state', 'header', 'lint', 'rule', 'side']);
/** What happens to the response of a request on the wire. */
const OF_RESPONSES: ReadonlySet<RuleAction['type']> = new Set(['corrupt', 'cut', 'status']);

interface CheckedRule extends Rule {
  readonly predicate: Predicate;
}

/** A rule that is not set yet. */
export type NewRule = Pick<Rule, 'filter' | 'action' | 'enabled' | 'nth'>;

/** The rules of the user. The first that matches a message decides. */
export class Rules {
  readonly #actions: readonly RuleAction['type'][];
  readonly #onmatch: () => void;
  #rules: readonly CheckedRule[] = [];
  #last = 0;

  /**
   * @param actions what rules can do here.
   * @param onmatch called when a message was counted.
   */
  constructor(actions: readonly RuleAction['type'][], onmatch: () => void) {
    this.#actions = actions;
    this.#onmatch = onmatch;
  }

  get list(): readonly Rule[] {
    return this.#rules.map((each) => {
      const { predicate: _, ...rule } = each;
      return rule;
    });
  }

  /** Whether any rule may act on messages. */
  get acts(): boolean {
    return this.#rules.some(({ enabled, action }) => enabled && !OF_RESPONSES.has(action.type));
  }

  /** Whether any rule may act on responses. */
  get actsOnResponses(): boolean {
    return this.#rules.some(({ enabled, action }) => enabled && OF_RESPONSES.has(action.type));
  }

  /** @throws CommandRefused if the rule can never act. */
  set({ id, ...rule }: Parameters<BreakpointCommands['setRule']>[0]): void {
    if (id === undefined || !this.#rules.some((each) => each.id === id)) return this.add([rule]);
    const checked = this.#checked(rule);
    this.#rules = this.#rules.map((each) => (each.id === id ? { id, ...checked } : each));
  }

  /**
   * Adds rules after those that are set.
   *
   * @throws CommandRefused if one of them can never act, or there are too many. Then none is added.
   */
  add(rules: readonly NewRule[]): void {
    const checked = rules.map((rule) => this.#checked(rule));
    if (this.#rules.length + rules.length > MAX_RULES)
      throw new CommandRefused(409, `There can be at most ${MAX_RULES} rules.`);
    this.#rules = [...this.#rules, ...checked.map((rule) => this.#numbered(rule))];
  }

  #numbered(rule: Omit<CheckedRule, 'id'>): CheckedRule {
    this.#last += 1;
    return { id: this.#last, ...rule };
  }

  #checked({ filter, action, enabled, nth }: NewRule): Omit<CheckedRule, 'id'> {
    check(action, nth);
    if (!this.#actions.includes(action.type))
      throw new CommandRefused(409, `Rules cannot ${action.type} here: they can ${this.#actions.join(', ')}.`);
    return { filter, action, enabled, nth, matches: 0, predicate: predicateOf(filter) };
  }

  remove(id: number): void {
    this.#rules = this.#rules.filter((each) => each.id !== id);
  }

  /**
   * Counts a message for all rules that it matches. Returns the first of them that acts on it.
   *
   * @param ofResponses whether rules for responses are asked, with the request. Otherwise, the other rules are.
   */
  match(subject: FilterSubject, ofResponses: boolean): Rule | undefined {
    let found: Rule | undefined;
    let changed = false;
    const rules = this.#rules.map((rule) => {
      if (!rule.enabled || OF_RESPONSES.has(rule.action.type) !== ofResponses || !rule.predicate(subject)) return rule;
      changed = true;
      const counted = { ...rule, matches: rule.matches + 1 };
      if (rule.nth === undefined || rule.nth === counted.matches) found ??= counted;
      return counted;
    });
    this.#rules = rules;
    if (changed) this.#onmatch();
    return found;
  }
}

function check(action: RuleAction, nth: number | undefined): void {
  if (nth !== undefined && nth < 1) throw new CommandRefused(400, 'The first match is number 1.');
  if (action.type === 'delay' && action.ms > MAX_DELAY)
    throw new CommandRefused(400, `A message can be delayed by at most ${MAX_DELAY} ms.`);
}

/** @throws CommandRefused if the filter has a mistake, or can match nothing. */
function predicateOf(filter: string): Predicate {
  try {
    const predicate = parseFilter(filter);
    for (const { type, start, end } of tokensOf(filter)) {
      const [, key = ''] = (type === 'word' && KEY.exec(filter.slice(start, end))) || [];
      if (OF_RECORDS.has(key.toLowerCase()))
        throw new FilterError(`A rule cannot use "${key}": it is known only on the wire`, start, end);
    }
    return predicate;
  } catch (error) {
    if (error instanceof FilterError) throw new CommandRefused(400, `${error.message}.`, { cause: error });
    throw error;
  }
}
