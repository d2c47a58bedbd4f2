import { inNextTurn } from './next-turn.ts';

/** How long the work of one turn of the event loop may take before further work waits for the next one. Milliseconds. */
const MAX_TIME = 20;

const waiting: (() => void)[] = [];
/** How long the work of this turn has taken. Milliseconds. */
let spent = 0;
let begun = false;

/**
 * Runs work that a peer can make costly, such as the check of a value. At once, if the work of this turn of the event loop was
 * cheap so far. Otherwise in one of the next turns, in order. So a hundred costly checks that arrive together take a hundred
 * turns, and other work runs between them.
 */
export function inShortTurns<T>(work: () => T): T | Promise<Awaited<T>> {
  if (waiting.length > 0 || spent > MAX_TIME) return inTurn(work);
  if (!begun) {
    begun = true;
    inNextTurn(() => void turn());
  }
  return timed(work);
}

async function inTurn<T>(work: () => T): Promise<Awaited<T>> {
  // The work must run in its own asynchronous context, so it does not run in `turn`.
  await new Promise<void>((resolve) => waiting.push(resolve));
  return await timed(work);
}

function timed<T>(work: () => T): T {
  const start = performance.now();
  try {
    return work();
  } finally {
    spent += performance.now() - start;
  }
}

/** A turn begins. */
async function turn(): Promise<void> {
  spent = 0;
  begun = waiting.length > 0;
  if (begun) inNextTurn(() => void turn());
  while (waiting.length > 0 && spent <= MAX_TIME) {
    waiting.shift()!();
    // The work runs now.
    await Promise.resolve();
  }
}
