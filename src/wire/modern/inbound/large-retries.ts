import { inShortTurns } from '../../../base/short-turns.ts';
import { peerOf } from '../../../core/peer-of.ts';
import type { Round } from './exchange.ts';

/** A request with more bytes is large. */
const LARGE = 64 * 1024;

/**
 * Takes a retry. It takes long to compare a large one with the request that its state belongs to, so many of them that arrive
 * together are taken in several turns of the event loop.
 *
 * @param take must not throw. Not called if the caller leaves before its turn.
 */
export function takeInTurns({ caller, extra, reply }: Round, take: () => void): void {
  if ((extra?.bytes ?? 0) <= LARGE) return take();
  let waiting: (() => void) | undefined = take;
  // The request of a caller that has left is not kept in memory.
  reply.onclose = () => (waiting = undefined);
  void inShortTurns(() => waiting?.(), peerOf(caller));
}
