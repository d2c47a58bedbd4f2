import { startTimer } from '../../../util/timer.ts';
import type { Lifetime } from '../../../util/lifetime.ts';
import { SilenceError } from './errors.ts';
import { EventSourceReader, type EventSourceOptions } from './event-source.ts';
import type { HttpReply } from './http.ts';

export interface ReadOptions extends EventSourceOptions {
  /** How long the stream may be silent. Milliseconds, 0 for ever. */
  readonly idleTimeout: number;
  /** Breaks the request off, and so the stream. */
  readonly cancellation: Lifetime;
}

/**
 * Reads the event stream of a reply to its end.
 *
 * @throws AnswerLost where it breaks off; SilenceError where nothing came for too long; the reason of the cancellation where
 * it was broken off; EventTooLarge.
 */
export async function readEvents(reply: HttpReply, options: ReadOptions): Promise<void> {
  const { idleTimeout, cancellation } = options;
  const reader = new EventSourceReader(options);
  const watchdog = startTimer(idleTimeout, () => cancellation.abort(new SilenceError(idleTimeout)));
  try {
    for await (const chunk of reply.chunks()) {
      // Comments are signs of life too.
      watchdog?.refresh();
      reader.feed(chunk);
      if (cancellation.ended) throw cancellation.ended;
    }
  } finally {
    clearTimeout(watchdog);
  }
}
