import { joined } from '../base/abort.ts';
import { errorChain } from '../jsonrpc/error-chain.ts';
import { printableMessage } from '../base/printable.ts';
import type { Capture } from '../inspect/capture.ts';
import { findingOf } from '../lint/finding.ts';
import { Linter } from '../lint/linter.ts';
import type { Finding, RuleInfo } from '../lint/rule.ts';
import { RULES } from '../lint/rules/index.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS, profileOf } from '../protocol/revisions.ts';
import type { UpstreamRoute } from '../wire/era-cache.ts';
import { Ground } from './ground.ts';
import { Marks } from './marks.ts';
import { skipped, Skip, type Outcome } from './outcome.ts';
import type { BehaviourRule } from './rule.ts';
import { BEHAVIOUR_RULES } from './rules/index.ts';
import type { CheckedServer, CheckOptions } from './server.ts';
import { survey, type NotTried, type Survey } from './survey.ts';

const PATIENCE = 5000;
/** How many times its patience a probe may take. */
const WAITS = 6;

/** How many servers that were started for probes run at a time. */
const LANES = 3;

/** What a check found. */
export interface CheckResult {
  /** The revisions that the server speaks, and how their messages travel. */
  readonly spoken: readonly Pick<Survey, 'revision' | 'route'>[];
  /** All rules, for the wire and for the behaviour. */
  readonly rules: readonly RuleInfo[];
  readonly findings: readonly Finding[];
  /** The ids of the rules that had something to judge. */
  readonly exercised: ReadonlySet<string>;
  /** Why rules for the behaviour had nothing to judge, by their ids. */
  readonly skipped: ReadonlyMap<string, string>;
  /** What was left out. */
  readonly notTried: readonly NotTried[];
}

/**
 * Uses a server in each revision that it speaks, and tries bad input. Judges what was on the wire and how the server
 * behaved. Calls only the tools that it is told to. A server at a URL is left running; a command is started for each
 * probe, and ended.
 *
 * @param capture records all connections. Closed when the check ends.
 * @throws the error of `connect` if the server speaks no revision. The signal's reason.
 */
export async function check(server: CheckedServer, capture: Capture, options: CheckOptions = {}): Promise<CheckResult> {
  const run = new Check(server, capture, options);
  try {
    return await run.run();
  } finally {
    capture.close();
  }
}

class Check {
  readonly #server: CheckedServer;
  readonly #capture: Capture;
  readonly #options: CheckOptions;
  readonly #patience: number;
  readonly #signal: AbortSignal;
  readonly #marks: Marks;
  readonly #linter = new Linter();
  readonly #findings: Finding[] = [];
  readonly #exercised = new Set<string>();
  readonly #skipped = new Map<string, string>();
  readonly #notTried: NotTried[] = [];

  constructor(server: CheckedServer, capture: Capture, options: CheckOptions) {
    this.#server = server;
    this.#capture = capture;
    this.#options = options;
    this.#patience = options.patience ?? PATIENCE;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#marks = new Marks(capture);
  }

  async run(): Promise<CheckResult> {
    const judging = this.#judge();
    judging.catch(() => {});
    const surveys = await this.#survey();
    const probes = plan(surveys).values();
    // A started server is not shared by probes, so several can run.
    const lanes = Array.from({ length: this.#server.kind === 'command' ? LANES : 1 }, async () => {
      for (const { rule, survey: found } of probes) await this.#try(rule, found, surveys);
    });
    // Each lane ends what it has started, also if another one fails.
    await Promise.allSettled(lanes);
    await Promise.all(lanes);
    this.#capture.close();
    await judging;
    const exercised = new Set([...this.#exercised, ...this.#linter.exercised]);
    return {
      spoken: surveys.map(({ revision, route }) => ({ revision, route })),
      rules: [...BEHAVIOUR_RULES, ...RULES],
      findings: this.#findings,
      exercised,
      skipped: new Map([...this.#skipped].filter(([id]) => !exercised.has(id))),
      notTried: unique(this.#notTried),
    };
  }

  /** Judges the wire of the connections that have only what a correct client sends. */
  async #judge(): Promise<void> {
    for await (const records of this.#capture.records()) {
      for (const record of records) {
        if ('conn' in record && !this.#marks.isCorrect(record.conn)) continue;
        this.#findings.push(...(await this.#linter.add(record)));
      }
    }
  }

  /** Uses the server as a correct client does, in each revision. */
  async #survey(): Promise<Survey[]> {
    const server = this.#server;
    const surveys: Survey[] = [];
    let failure: unknown;
    for (const route of routesOf(server)) {
      const revisions = [...(route === 'http+sse' ? [] : MODERN_REVISIONS), ...LEGACY_REVISIONS.toReversed()];
      for (const revision of revisions) {
        this.#options.onstep?.(`${revision}: using what the server offers`);
        try {
          const found = await survey(revision, route, {
            ...this.#options,
            server,
            marks: this.#marks,
            patience: this.#patience,
            signal: this.#signal,
          });
          surveys.push(found);
          this.#notTried.push(...found.notTried);
        } catch (error) {
          this.#signal.throwIfAborted();
          if (isFinal(error)) throw error;
          // The error of the newest handshake says more: that of a request without one may only say that it has none.
          if (failure === undefined || (revision === LEGACY_REVISIONS.at(-1) && route === routesOf(server)[0]))
            failure = error;
        }
      }
      if (surveys.length > 0) return surveys;
    }
    throw failure;
  }

  async #try(rule: BehaviourRule, { revision, offer, route }: Survey, surveys: readonly Survey[]): Promise<void> {
    this.#options.onstep?.(`${revision}: ${rule.id}`);
    const slowest = Math.max(0, ...offer.calls.map(({ took }) => took));
    const limit = AbortSignal.timeout(Math.ceil((this.#patience + slowest) * WAITS));
    const { signal, release } = joined(this.#signal, limit);
    const ground = new Ground({
      server: this.#server,
      route,
      revision,
      spoken: surveys.map((each) => each.revision),
      offer,
      marks: this.#marks,
      patience: this.#patience,
      signal,
    });
    let outcome: Outcome;
    try {
      outcome = await rule.probe(ground);
    } catch (error) {
      this.#signal.throwIfAborted();
      outcome = skipped(error instanceof Skip ? error.message : `the probe failed: ${(error as Error).message}`);
    } finally {
      await ground.close();
      release();
    }
    if (outcome.kind === 'skipped') {
      this.#skipped.set(rule.id, printableMessage(outcome.why));
      return;
    }
    this.#exercised.add(rule.id);
    if (outcome.kind === 'broken') this.#findings.push(findingOf(rule, revision, outcome.records, outcome.seen));
  }
}

/** The routes to try, until one works. */
function routesOf(server: CheckedServer): UpstreamRoute[] {
  if (server.kind === 'command') return ['connection'];
  if (server.transport === undefined) return ['streamable-http', 'http+sse'];
  return [server.transport === 'sse' ? 'http+sse' : 'streamable-http'];
}

/** Which rules are tried in which revision. */
function plan(surveys: readonly Survey[]): { rule: BehaviourRule; survey: Survey }[] {
  const eras = ['modern', 'legacy'] as const;
  const newest = new Set(eras.map((era) => surveys.find(({ revision }) => profileOf(revision)!.era === era)));
  return BEHAVIOUR_RULES.flatMap((rule) =>
    surveys
      .filter(({ route }) => holdsOver(rule, route))
      .filter((each) => rule.clauses[each.revision] !== undefined && (rule.inEach === true || newest.has(each)))
      .map((each) => ({ rule, survey: each })),
  );
}

/** Whether a rule can be tried over a route. */
function holdsOver({ over, alsoOverSse }: BehaviourRule, route: UpstreamRoute): boolean {
  if (over === undefined) return true;
  if (route === 'connection') return over === 'stdio';
  return route === 'http+sse' ? over === 'sse' || alsoOverSse === true : over === 'http';
}

/** Whether no other revision can help: the server cannot be reached, or requires a login. */
function isFinal(error: unknown): boolean {
  return [...errorChain(error)].some(
    ({ status, unreachable }: Error & { status?: unknown; unreachable?: unknown }) =>
      status === 401 || status === 403 || unreachable === true,
  );
}

function unique(entries: readonly NotTried[]): NotTried[] {
  return [...new Map(entries.map((each) => [each.what, each])).values()];
}
