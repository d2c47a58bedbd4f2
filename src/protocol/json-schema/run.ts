import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Resource } from './references.ts';
import { Work } from './work.ts';

/** Mistakes that are reported of one value. */
const MAX_ISSUES = 10;

type Issue = StandardSchemaV1.Issue;

/** The state of one check of one value. */
export class Run {
  readonly work = new Work();
  /** The way from the whole value to what is being checked. */
  readonly path: (string | number)[] = [];
  /** The schema resources that were entered: the dynamic scope (2020-12 core, section 7.1). */
  readonly scope: Resource[] = [];
  readonly #issues: Issue[] = [];
  #quiet = 0;

  get issues(): readonly Issue[] {
    return this.#issues;
  }

  /** Records a mistake, at a member of what is being checked where one is named; returns false. */
  fail(message: string | (() => string), member?: string): false {
    if (this.#quiet > 0 || this.#issues.length >= MAX_ISSUES) return false;
    this.work.take(this.path.length);
    const path = this.path.map(String);
    if (member !== undefined) path.push(member);
    this.#issues.push({ path, message: typeof message === 'string' ? message : message() });
    return false;
  }

  /** Tries what is no mistake where it fails. */
  quietly<T>(attempt: () => T): T {
    this.#quiet += 1;
    try {
      return attempt();
    } finally {
      this.#quiet -= 1;
    }
  }

  /** What was recorded so far, for `forget`. */
  get mark(): number {
    return this.#issues.length;
  }

  /** Takes back what was recorded since. */
  forget(mark: number): void {
    this.#issues.length = mark;
  }
}
