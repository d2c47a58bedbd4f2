import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Resource } from './references.ts';
import { Work } from './work.ts';

/** How many mistakes are reported for one value. */
const MAX_ISSUES = 10;

type Issue = StandardSchemaV1.Issue;

/** The state of one check of one value. */
export class Run {
  readonly work = new Work();
  /** The path from the whole value to the part that is being checked. */
  readonly path: (string | number)[] = [];
  /** The schema resources that were entered: the dynamic scope (2020-12 core, section 7.1). */
  readonly scope: Resource[] = [];
  readonly #issues: Issue[] = [];
  #quiet = 0;

  get issues(): readonly Issue[] {
    return this.#issues;
  }

  /**
   * Records a mistake, at `member` if it is given. Returns false.
   *
   * @param message a function if the message has to be composed, because many mistakes are never recorded.
   */
  fail(message: string | (() => string), member?: string): false {
    this.work.take(1);
    if (this.#quiet > 0 || this.#issues.length >= MAX_ISSUES) return false;
    this.work.take(20 + this.path.length);
    const path = this.path.map(String);
    if (member !== undefined) path.push(member);
    this.#issues.push({ path, message: typeof message === 'string' ? message : message() });
    return false;
  }

  /** Runs a check without recording its mistakes. */
  quietly<T>(attempt: () => T): T {
    this.#quiet += 1;
    try {
      return attempt();
    } finally {
      this.#quiet -= 1;
    }
  }

  /** How many mistakes were recorded so far, for `forget`. */
  get mark(): number {
    return this.#issues.length;
  }

  /** Removes the mistakes that were recorded after `mark`. */
  forget(mark: number): void {
    this.#issues.length = mark;
  }
}
