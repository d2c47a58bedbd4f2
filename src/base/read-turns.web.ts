export const SLICE = 64 * 1024;

/**
 * Replaces `read-turns.ts` in workers. There, a turn of the event loop belongs to one request: when that request has
 * ended, its next turn never comes, and all others would wait for it.
 */
export class ReadTurns {
  async run(_share: string, read: () => Promise<number>): Promise<void> {
    await read();
  }
}
