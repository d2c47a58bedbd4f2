import { startTimer } from '../../../jsonrpc/timer.ts';
import type { Cancellation } from './cancellation.ts';

/** Resolves after `milliseconds`. @throws the reason of the cancellation as soon as it fires. */
export function pause(milliseconds: number, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancellation.aborted) return reject(cancellation.reason);
    const timer = startTimer(Math.max(1, milliseconds), resolve);
    cancellation.onabort = () => {
      clearTimeout(timer);
      reject(cancellation.reason);
    };
  });
}
