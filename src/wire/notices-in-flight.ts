import { inNextTurn } from '../base/next-turn.ts';

/**
 * When so many bytes of notifications are on their way for all exchanges, further ones wait. It is more than an HTTP server
 * keeps for its slow readers, so these alone do not make others wait.
 */
const MAX_BYTES = 256 * 1024 * 1024;

let bytes = 0;
/** Send what waits for room. Oldest first. */
const waiting = new Set<() => void>();
let waking = false;

/** The notifications of all exchanges of the process that are on their way. */
export const noticesInFlight = {
  /** Whether one more may be sent. */
  get hasRoom(): boolean {
    return bytes < MAX_BYTES;
  },

  /** @param change of their bytes. */
  add(change: number): void {
    bytes += change;
    if (change < 0) wake();
  },

  /** Calls a function once, in a turn of the event loop in which there is room. */
  whenRoom(send: () => void): void {
    waiting.add(send);
  },

  /** Does not call a function any more. */
  forget(send: () => void): void {
    waiting.delete(send);
  },
};

function wake(): void {
  if (waking || waiting.size === 0 || !noticesInFlight.hasRoom) return;
  waking = true;
  // One in each turn, because it may send some megabytes.
  inNextTurn(() => {
    waking = false;
    const [send] = waiting;
    if (!send || !noticesInFlight.hasRoom) return;
    waiting.delete(send);
    send();
    wake();
  });
}
