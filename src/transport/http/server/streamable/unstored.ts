/**
 * When messages of so many bytes (estimated) wait until their log has stored them, for all streams of the process, further
 * notifications and questions are refused.
 */
const MAX_BYTES = 64 * 1024 * 1024;

let bytes = 0;
let hasToldFull = false;

/**
 * Counts the messages that wait until their log has stored them. A handler need not await what it sends, and a log may be
 * slow, so nothing else limits them.
 */
export const unstored = {
  get isFull(): boolean {
    return bytes >= MAX_BYTES;
  },

  /** @param change of their memory. */
  add(change: number): void {
    bytes += change;
    if (bytes <= MAX_BYTES / 2) hasToldFull = false;
  },

  /** Reports that a notification was dropped. Further ones are reported only after half of the room was free. */
  tellFull(onerror: (error: Error) => void): void {
    if (hasToldFull) return;
    hasToldFull = true;
    onerror(new Error(`Notifications were dropped: ${UNSTORED_FULL}`));
  },
};

export const UNSTORED_FULL = 'the messages that wait to be stored take too much memory';
