import { startTimer, type Timer } from '../../../base/timer.ts';
import type { Lifetime } from '../../../base/lifetime.ts';
import type { Holder } from '../../../base/buffer-budget.ts';
import { COUNTED_FROM, receiveBudget, receiveBudgetExceeded } from '../../../base/receive-budget.ts';
import { AnswerLost } from './errors.ts';
import { EventSourceReader, type EventSourceOptions } from './event-source.ts';
import type { HttpReply } from './http.ts';
import { MAX_AT_ONCE } from '../../../base/parsed-at-once.ts';
import { inShortTurns } from '../../../base/short-turns.ts';
import { nextTurn, waitFor } from '../../../base/wait.ts';

export interface ReadOptions extends EventSourceOptions {
  /** How long the stream may be silent. Milliseconds; 0 for no limit. */
  readonly idleTimeout: number;
  /** Whose events they are. Large ones are read in turn with those of other peers. */
  readonly peer: string;
  /** Aborts the request and its stream. */
  readonly cancellation: Lifetime;
  /** Called after each chunk. If it returns a promise, the next chunk is read after the promise resolves. */
  readonly caughtUp?: (() => Promise<void> | undefined) | undefined;
}

/** How many events, or bytes without events, are read before timers, signals and other connections get a turn. */
const EVENTS_PER_TURN = 100;
const BYTES_PER_TURN = 64 * 1024;
/** A chunk is read in pieces of this many bytes: it may contain thousands of events. */
const PIECE = 4096;
/** Only these end a line, and so an event. */
const [LF, CR] = [0x0a, 0x0d];

/** How long a server may take to end a stream that has delivered everything. Milliseconds. */
const LINGER = 1000;
/** Why a stream is aborted that has delivered everything. */
export const STREAM_ENDED = new AnswerLost('the stream has ended');

/**
 * Aborts a stream that has delivered everything, unless the server soon ends it itself: its connection can be used
 * again then.
 *
 * @returns the timer, to clear when the stream has ended.
 */
export function abortSoon(cancellation: Lifetime): Timer {
  return startTimer(LINGER, () => cancellation.abort(STREAM_ENDED));
}

/**
 * Reads the event stream of a reply to its end.
 *
 * @throws AnswerLost if the connection is lost or the stream is silent for too long. The reason of the cancellation if
 * the request is aborted. EventTooLarge.
 */
export async function readEvents(reply: HttpReply, options: ReadOptions): Promise<void> {
  const { idleTimeout, peer, cancellation, onevent, caughtUp } = options;
  let events = 0;
  let bytes = 0;
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
  const unfinished: Holder = { held: 0, cutOff: () => cancellation.abort(receiveBudgetExceeded()) };
  try {
    for await (const chunk of reply.chunks()) {
      // Comments count as activity too.
      clearTimeout(watchdog);
      watchdog = watch();
      for (let at = 0; at < chunk.length; at += PIECE) {
        const piece = chunk.subarray(at, at + PIECE);
        // The piece may complete a large event, whose handling takes long, and so may those of hundreds of other streams.
        const feed = (): void => reader.feed(piece);
        const mayComplete = reader.unfinished > MAX_AT_ONCE && (piece.includes(LF) || piece.includes(CR));
        const fed = mayComplete ? inShortTurns(feed, peer) : feed();
        // While the client itself does not read, silence does not count.
        if (fed) {
          clearTimeout(watchdog);
          await fed;
          watchdog = watch();
        }
        if (cancellation.ended) throw cancellation.ended;
        bytes += piece.length;
        if (events < EVENTS_PER_TURN && bytes < BYTES_PER_TURN) continue;
        events = 0;
        bytes = 0;
        await nextTurn();
      }
      const size = reader.unfinished;
      if (size >= COUNTED_FROM || unfinished.held > 0) receiveBudget.hold(unfinished, size < COUNTED_FROM ? 0 : size);
      const waiting = caughtUp?.();
      if (!waiting) continue;
      clearTimeout(watchdog);
      await waitFor(waiting, cancellation);
      watchdog = watch();
    }
  } finally {
    clearTimeout(watchdog);
    if (unfinished.held > 0) receiveBudget.hold(unfinished, 0);
  }
}
