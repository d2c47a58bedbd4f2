/**
 * Replaces `paced.ts` in workers. There, a turn of the event loop belongs to one request and may never come, and the platform
 * limits the time that a request computes.
 */
export function paced(sent: Promise<void>): Promise<void> {
  return sent;
}
