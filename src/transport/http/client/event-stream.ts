import { startTimer, type Timer } from '../../../base/timer.ts';
import type { Lifetime } from '../../../base/lifetime.ts';
import { AnswerLost } from './errors.ts';
import { EventSourceReader, type EventSourceOptions } from './event-source.ts';
import type { HttpReply } from './http.ts';
import { unlessEnded } from './pause.ts';

export interface ReadOptions extends EventSourceOptions {
  /** How long the stream may be silent. Milliseconds; 0 for no limit. */
  readonly idleTimeout: number;
  /** Aborts the request and its stream. */
  readonly cancellation: Lifetime;
  /** Called after each chunk. If it returns a promise, the next chunk is read when that resolves. */
  readonly caughtUp?: (() => Promise<void> | undefined) | undefined;
}

/** How many events are read before timers and signals can run. */
const EVENTS_PER_TURN = 100;

/**
 * Reads the event stream of a reply to its end.
 *
 * @throws AnswerLost if the connection is lost or the stream is silent for too long. The reason of the cancellation if
 * the request is aborted. EventTooLarge.
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
  const silentMessage = `The server has sent nothing for ${idleTimeout} ms`;
  const watch = (): Timer => startTimer(idleTimeout, () => cancellation.abort(new AnswerLost(silentMessage)));
  let watchdog = watch();
  try {
    for await (const chunk of reply.chunks()) {
      // Comments count as activity too.
      watchdog?.refresh();
      reader.feed(chunk);
      if (cancellation.ended) throw cancellation.ended;
      if (events >= EVENTS_PER_TURN) {
        events = 0;
        await new Promise((resolve) => void setImmediate(resolve));
      }
      const waiting = caughtUp?.();
      if (!waiting) continue;
      // The client itself does not read now, so this silence does not count.
      clearTimeout(watchdog);
      await unlessEnded(waiting, cancellation);
      watchdog = watch();
    }
  } finally {
    clearTimeout(watchdog);
  }
}
