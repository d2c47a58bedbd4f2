import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Outcome } from '../rule.ts';
import { shown } from './shown.ts';

/** The first value of a member that two objects have. */
export function duplicate(list: readonly JsonObject[], member: string): Outcome {
  const seen = new Set<string>();
  for (const { [member]: value } of list) {
    // Other values break another rule, and V8 takes minutes for a set of numbers that were chosen to have the same hash.
    if (typeof value !== 'string') continue;
    if (seen.has(value)) return `${shown(value)} twice`;
    seen.add(value);
  }
  return list.length > 0 ? true : undefined;
}
