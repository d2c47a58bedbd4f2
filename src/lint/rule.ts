import type { Revision } from '../protocol/revisions.ts';
import type { WireEvents } from './model/events.ts';

/**
 * How bad a finding is.
 *
 * - `error`: the specification forbids it (MUST).
 * - `warning`: the specification advises against it (SHOULD).
 * - `advice`: the specification allows it, but models or clients have trouble with it.
 */
export type Severity = 'error' | 'warning' | 'advice';

/** What the rules are about. */
export const AREAS = [
  'json-rpc',
  'lifecycle',
  'http',
  'sse',
  'session',
  'stdio',
  'schema',
  'tools',
  'resources',
  'prompts',
  'questions',
  'tasks',
  'notifications',
  'subscriptions',
  'caching',
  'authorization',
  'security',
  'utilities',
] as const;

/** What a rule is about. */
export type Area = (typeof AREAS)[number];

/**
 * The clause of each revision in which the rule holds: the page of the specification, and the numbers of the statements
 * in the project's ledger if there are any: `basic/transports 14`. The page is a path below the revision's folder.
 */
export type Clauses = Partial<Readonly<Record<Revision, string>>>;

/** A rule as data. */
export interface RuleInfo {
  /** Stable, in kebab-case. */
  readonly id: string;
  readonly area: Area;
  readonly severity: Severity;
  /** For an error: the revisions that only advise against it (SHOULD). There a breach is a warning. Default none. */
  readonly warningIn?: readonly Revision[] | undefined;
  readonly clauses: Clauses;
  /** What is right, in one line. */
  readonly right: string;
}

/**
 * What a rule says about an event: undefined if it has nothing to judge, true if it is right, or a description of what
 * was seen. The description is escaped and cut by the linter.
 */
export type Outcome = undefined | true | string;

/** A rule that judges one kind of event. It must not keep state: events have what it needs. */
export interface WireRule<Kind extends keyof WireEvents = keyof WireEvents> extends RuleInfo {
  readonly on: Kind;
  /** Whether the JSON Schema forbids the same. Then the schema is not applied to a message in which it is found. */
  readonly inSchema?: boolean;
  check(event: WireEvents[Kind]): Outcome;
}

/** A breach of a rule. */
export interface Finding {
  /** With the severity that it has in this revision. */
  readonly rule: RuleInfo;
  /** The revision by which it was judged. */
  readonly revision: Revision;
  /** The clause of this revision. */
  readonly clause: string;
  /** The numbers of the records that show it, the most telling one first. */
  readonly records: readonly number[];
  /** What was seen, escaped and cut. */
  readonly seen: string;
}

/** Defines a rule for one kind of event. The linter gives it only events of this kind. */
export function onEvent<Kind extends keyof WireEvents>(on: Kind, rule: Omit<WireRule<Kind>, 'on'>): WireRule {
  return { ...rule, on };
}
