import { BufferBudget } from './buffer-budget.ts';

/**
 * Limits the bytes that wait in this process for peers that do not read, on all connections together, to 256 MiB. Above
 * that, the connection that has waited longest for its peer fails.
 */
export const sendBudget = new BufferBudget(256 * 1024 * 1024);

/** The error of a connection that fails to make room for others. */
export function sendBudgetExceeded(): Error {
  return new Error(
    `The peer does not read: more than ${sendBudget.limit} bytes wait on all connections, and this one has waited longest`,
  );
}
