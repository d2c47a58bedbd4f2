import { createHmac, randomBytes } from 'node:crypto';
import type { NodeId } from '../bus.ts';

const RANDOM_DIGITS = 16;
const MARK_DIGITS = 8;

/**
 * A new id of a process. It ends with a mark of the state key, so that others know without a message whether this process
 * would read theirs.
 *
 * @param stateKey undefined if the process reads no messages.
 */
export function newNodeId(stateKey: string | Uint8Array | undefined): NodeId {
  const random = randomBytes(RANDOM_DIGITS / 2).toString('hex');
  if (stateKey === undefined) return random;
  return random + createHmac('sha256', stateKey).update('everwire-node').digest('hex').slice(0, MARK_DIGITS);
}

/** Whether two processes have the same state key. */
export function haveSameKey(one: NodeId, other: NodeId): boolean {
  return one.slice(RANDOM_DIGITS) === other.slice(RANDOM_DIGITS);
}
