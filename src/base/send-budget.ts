import { BufferBudget } from './buffer-budget.ts';

/**
 * Limits the bytes that wait in this process for peers that do not read, on all connections together, to 256 MiB. Beyond
 * that, the connection whose peer has kept it waiting longest fails.
 */
export const sendBudget = new BufferBudget(256 * 1024 * 1024);

/** Why a connection fails to make room for others. */
export function sendBudgetExceeded(): Error {
  return new Error(
    `The peer does not read: more than ${sendBudget.limit} bytes are waiting on all connections, and on this one for the longest time`,
  );
}
