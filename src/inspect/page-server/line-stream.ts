import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pause } from '../../base/wait.ts';

/** A page draws at most once in this time, in milliseconds, so it need not get lines more often. */
const FRAME = 16;

export interface Lines {
  readonly text: string | Uint8Array;
  /** Whether nothing newer is ready to be sent. */
  readonly isNewest: boolean;
}

/**
 * Writes the lines of several sources to a response until there are no more, or the response ends. Reads no more while
 * the page is slow.
 */
export async function streamLines(
  response: ServerResponse,
  sources: readonly ((signal: AbortSignal) => AsyncIterable<Lines>)[],
): Promise<void> {
  const closing = new AbortController();
  const { signal } = closing;
  response.once('close', () => closing.abort());
  response.on('error', () => closing.abort());
  const write = async (source: (typeof sources)[number]): Promise<void> => {
    for await (const { text, isNewest } of source(signal)) {
      if (!response.write(text)) await once(response, 'drain', { signal });
      else if (isNewest) await pause(FRAME, signal);
    }
  };
  try {
    await Promise.all(sources.map(write));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  response.end();
}
