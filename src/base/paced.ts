import { afterMicrotasks } from './after-microtasks.ts';
import { inNextTurn } from './next-turn.ts';

/** How many notifications are sent in one turn of the event loop. The sender of the last one waits for another turn. */
const PER_TURN = 100;
/**
 * For how long they are sent while other senders wait. Milliseconds. Node accepts only one connection in each turn, so turns
 * must be short.
 */
const MAX_TIME = 1;

let sentNow = 0;
/** When the time is over. */
let end: number | undefined;
let begun = false;
/** The senders that wait. Whoever has waited longest comes first. */
const waiting = new Set<() => void>();

/**
 * Lets the event loop run between notifications. A handler that only awaits its notifications would otherwise block the
 * process, even from receiving its own cancellation, because accepted notifications settle within the same turn. All handlers
 * that wait share one limit and take turns, so a thousand of them do not block it either.
 */
export function paced(sent: Promise<void>): Promise<void> {
  begin();
  sentNow += 1;
  if (!isOver()) return sent;
  const later = sent.then(inTurn);
  // An unawaited rejection must not end the process. The loss is reported where it happens.
  later.catch(() => {});
  return later;
}

function inTurn(): Promise<void> {
  begin();
  return new Promise((resolve) => void waiting.add(resolve));
}

function begin(): void {
  if (begun) return;
  begun = true;
  inNextTurn(() => void turn());
}

function isOver(): boolean {
  if (sentNow >= PER_TURN) return true;
  if (waiting.size === 0) return false;
  end ??= performance.now() + MAX_TIME;
  return performance.now() >= end;
}

function restart(): void {
  sentNow = 0;
  end = undefined;
}

async function turn(): Promise<void> {
  begun = false;
  restart();
  if (waiting.size === 0) return;
  begin();
  end = performance.now() + MAX_TIME;
  for (const goOn of waiting) {
    waiting.delete(goOn);
    goOn();
    // The handler runs now. If it sends too much, it waits again, behind the others.
    await new Promise<void>(afterMicrotasks);
    if (isOver()) break;
  }
  // Those that do not wait have the same limit for themselves. A new call does not wait for hundreds of others.
  restart();
}
