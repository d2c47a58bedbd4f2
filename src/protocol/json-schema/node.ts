import { Evaluated } from './evaluated.ts';
import type { Resource } from './references.ts';
import type { Run } from './run.ts';

/** One keyword of one schema. False where the value is not as it says, which it has told `run` then. */
export type Check = (value: unknown, run: Run, seen: Evaluated | undefined) => boolean;

/** One schema, ready to check values. Made empty and filled afterwards, for schemas refer to one another in circles. */
export class Node {
  checks: readonly Check[] = [];
  /** Whether it asks what was evaluated of its value. */
  asks = false;
  /** The schema resource that it is of. */
  readonly resource: Resource;

  constructor(resource: Resource) {
    this.resource = resource;
  }

  /** @param seen takes what it evaluates of the value; undefined where nobody asks. */
  check(value: unknown, run: Run, seen: Evaluated | undefined): boolean {
    const { work, scope } = run;
    work.enter();
    work.take(1 + this.checks.length);
    const enters = scope[scope.length - 1] !== this.resource;
    if (enters) scope.push(this.resource);
    // What its cousins evaluated, a schema must not see.
    const own = this.asks ? new Evaluated() : seen;
    let valid = true;
    for (const check of this.checks) {
      if (check(value, run, own)) continue;
      valid = false;
      break;
    }
    if (valid && own && own !== seen) seen?.merge(own, work);
    if (enters) scope.pop();
    work.leave();
    return valid;
  }
}
