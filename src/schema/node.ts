import { Evaluated } from './evaluated.ts';
import type { Resource } from './references.ts';
import type { Run } from './run.ts';

/** Checks a value with one keyword of one schema. If it returns false, it has reported the mistake to `run`. */
export type Check = (value: unknown, run: Run, seen: Evaluated | undefined) => boolean;

/**
 * One schema, ready to check values. Created empty and filled later, because schemas can refer to each other in cycles.
 */
export class Node {
  checks: readonly Check[] = [];
  /** Whether it has `unevaluatedProperties` or `unevaluatedItems`. */
  asks = false;
  /** The schema resource that it belongs to. */
  readonly resource: Resource;

  constructor(resource: Resource) {
    this.resource = resource;
  }

  /** @param seen collects the members and items that the schema evaluates. Undefined if no keyword needs them. */
  check(value: unknown, run: Run, seen: Evaluated | undefined): boolean {
    const { work, scope } = run;
    work.enter();
    work.take(1 + this.checks.length);
    const enters = scope[scope.length - 1] !== this.resource;
    if (enters) scope.push(this.resource);
    // A schema must not see what its sibling schemas evaluated.
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
