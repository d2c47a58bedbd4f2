import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Outcome } from '../rule.ts';
import { shown } from './shown.ts';

/** The first value of a member that two objects have. */
export function duplicate(list: readonly JsonObject[], member: string): Outcome {
  const seen = new Set<unknown>();
  for (const each of list) {
    if (seen.has(each[member])) return `${shown(each[member])} twice`;
    seen.add(each[member]);
  }
  return list.length > 0 ? true : undefined;
}
