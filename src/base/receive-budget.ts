import { BufferBudget } from './buffer-budget.ts';

/**
 * Limits the bytes of unfinished messages from peers, on all connections of this process together, to 256 MiB. Each
 * connection has a limit of its own, but a bridge may have hundreds. Above the limit, the message that has waited longest
 * for its end fails.
 */
export const receiveBudget = new BufferBudget(256 * 1024 * 1024);

/** Smaller parts of messages are not counted. They are too common. In bytes. */
export const COUNTED_FROM = 64 * 1024;

/** The error of a message that fails to make room for others. */
export function receiveBudgetExceeded(): Error {
  return new Error(
    `There is no room for the message: more than ${receiveBudget.limit} bytes of messages are unfinished or wait on all connections, and this one has waited longest`,
  );
}
