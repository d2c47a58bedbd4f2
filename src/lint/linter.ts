import type { Revision } from '../protocol/revisions.ts';
import { findingOf } from './finding.ts';
import type { LintRecord } from './lint-record.ts';
import type { WireEvent, WireEvents } from './model/events.ts';
import { WireModel } from './model/wire-model.ts';
import type { Finding, WireRule } from './rule.ts';
import { WIRE_RULES } from './rules/index.ts';
import { loadSchema } from './schemas/load.ts';
import type { RevisionSchema } from './schemas/revision-schema.ts';

/** How to judge. */
export interface LinterOptions {
  /** How many bytes are kept until a message in them is complete. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
}

/**
 * Judges the records of a capture by the rules of the revision that was negotiated. What it keeps is bounded. After
 * missing records, it forgets what may have changed in them, so a breach may go unnoticed but nothing is reported that
 * was not seen.
 */
export class Linter {
  /** The rules that hold, by the kind of event and the revisions that may have been negotiated. */
  readonly #rules = new Map<string, readonly WireRule[]>();
  readonly #model: WireModel;
  readonly #schemas = new Map<Revision, RevisionSchema>();
  readonly #exercised = new Set<string>();

  constructor({ maxBytes = 64 * 1024 * 1024 }: LinterOptions = {}) {
    this.#model = new WireModel(maxBytes);
  }

  /** The ids of the rules that had something to judge so far. */
  get exercised(): ReadonlySet<string> {
    return this.#exercised;
  }

  /**
   * Judges the next record. Records are added in order, each after the promise of the one before has resolved.
   *
   * @returns what is certain to be wrong now.
   */
  async add(record: LintRecord): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    for (const { on, event } of this.#model.add(record)) {
      if (on === 'message') event.schema = await this.#schemaOf(event.revisions);
      this.#judge(on, event, findings);
    }
    return findings;
  }

  #judge(on: WireEvent['on'], event: WireEvents[WireEvent['on']], findings: Finding[]): void {
    // By the newest revision that may have been negotiated.
    const revision = event.revisions.at(-1);
    if (revision === undefined) return;
    let isShapeless = false;
    for (const rule of this.#rulesFor(on, event.revisions)) {
      if (rule.area === 'schema' && isShapeless) continue;
      const outcome = rule.check(event);
      if (outcome === undefined) continue;
      this.#exercised.add(rule.id);
      if (outcome === true) continue;
      isShapeless ||= rule.inSchema === true;
      findings.push(findingOf(rule, revision, event.records, outcome));
    }
  }

  /** The rules for an event that hold in each of the revisions. */
  #rulesFor(on: keyof WireEvents, revisions: readonly Revision[]): readonly WireRule[] {
    const key = `${on} ${revisions.join(' ')}`;
    let rules = this.#rules.get(key);
    if (!rules) {
      rules = WIRE_RULES.filter(
        (rule) => rule.on === on && revisions.every((each) => rule.clauses[each] !== undefined),
      );
      this.#rules.set(key, rules);
    }
    return rules;
  }

  async #schemaOf(revisions: readonly Revision[]): Promise<RevisionSchema | undefined> {
    const [revision] = revisions;
    if (revision === undefined || revisions.length > 1) return undefined;
    let schema = this.#schemas.get(revision);
    if (!schema) this.#schemas.set(revision, (schema = await loadSchema(revision)));
    return schema;
  }
}

/**
 * Judges all records of a recording or a capture.
 *
 * @param records such as those of `readRecording`, or batches of them, such as those of `Capture.records`.
 */
export async function* lint(
  records: AsyncIterable<LintRecord | readonly LintRecord[]>,
  linter: Linter = new Linter(),
): AsyncGenerator<Finding, void> {
  for await (const next of records) {
    for (const record of Array.isArray(next) ? (next as readonly LintRecord[]) : [next as LintRecord])
      yield* await linter.add(record);
  }
}
