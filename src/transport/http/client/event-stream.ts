import { startTimer, type Timer } from '../../../base/timer.ts';
import type { Lifetime } from '../../../base/lifetime.ts';
import { AnswerLost } from './errors.ts';
import { EventSourceReader, type EventSourceOptions } from './event-source.ts';
import type { HttpReply } from './http.ts';
import { unlessEnded } from './pause.ts';

export interface ReadOptions extends EventSourceOptions {
  /** How long the stream may be silent. Milliseconds, 0 for ever. */
  readonly idleTimeout: number;
  /** Breaks the request off, and so the stream. */
  readonly cancellation: Lifetime;
  /** Asked after each chunk: the next is read when this resolves. */
  readonly caughtUp?: (() => Promise<void> | undefined) | undefined;
}

/** How many events are taken before timers and signals get their turn. */
const EVENTS_PER_TURN = 100;

/**
 * Reads the event stream of a reply to its end.
 *
 * @throws AnswerLost if it breaks off or nothing came for too long; the reason of the cancellation where it was broken
 * off; EventTooLarge.
 */
export async function readEvents(reply: HttpReply, options: ReadOptions): Promise<void> {
  const { idleTimeout, cancellation, onevent, caughtUp } = options;
  let events = 0;
  const reader = new EventSourceReader({
    ...options,
    onevent: (event) => {
      events += 1;
      onevent(event);
    },
  });
  const silent = `Nothing has come from the server for ${idleTimeout} ms`;
  const watch = (): Timer => startTimer(idleTimeout, () => cancellation.abort(new AnswerLost(silent)));
  let watchdog = watch();
  try {
    for await (const chunk of reply.chunks()) {
      // Comments are signs of life too.
      watchdog?.refresh();
      reader.feed(chunk);
      if (cancellation.ended) throw cancellation.ended;
      if (events >= EVENTS_PER_TURN) {
        events = 0;
        await new Promise((resolve) => void setImmediate(resolve));
      }
      const waiting = caughtUp?.();
      if (!waiting) continue;
      // The silence is ours meanwhile.
      clearTimeout(watchdog);
      await unlessEnded(waiting, cancellation);
      watchdog = watch();
    }
  } finally {
    clearTimeout(watchdog);
  }
}
