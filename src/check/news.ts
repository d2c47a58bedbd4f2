import { Waiters } from '../base/waiters.ts';

/** What has come from a server, for those that wait until something holds. */
export class News extends Waiters {
  /** Resolves when a condition holds, or after the timeout in milliseconds. @throws (rejects) the reason of the signal. */
  async until(isReached: () => boolean, timeout: number, signal: AbortSignal): Promise<void> {
    const end = performance.now() + timeout;
    while (!isReached()) {
      signal.throwIfAborted();
      const left = end - performance.now();
      if (left <= 0) return;
      await this.wait({ signal, timeout: left });
    }
  }
}
