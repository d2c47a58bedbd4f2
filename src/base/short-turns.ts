import { inNextTurn } from './next-turn.ts';

/**
 * How long the work of one turn of the event loop may take, and in turns of waiting work also what its callers do then, before
 * further work waits for the next turn. Milliseconds.
 */
const MAX_TIME = 20;

/** What waits, by whose it is. Whoever has waited longest since their last work comes first. */
const waiting = new Map<unknown, (() => void)[]>();
/** How long the work of this turn has taken. Milliseconds. */
let spent = 0;
/** Whether work has run at once since the last turn began. */
let atOnce = false;
/** When the work that runs now began. Undefined between works. */
let since: number | undefined;
let begun = false;

/**
 * Runs work that a peer can make costly, such as the check of a value. At once, if the work of this turn of the event loop was
 * cheap so far. Otherwise in one of the next turns, in order. So a hundred costly checks that arrive together take a hundred
 * turns, and other work runs between them.
 *
 * @param whose the peer whose work it is. Peers take turns: one with much work does not keep the others waiting.
 */
export function inShortTurns<T>(work: () => T, whose?: unknown): T | Promise<Awaited<T>> {
  if (waiting.size > 0 || spent + running() > MAX_TIME) return inTurn(work, whose);
  if (!begun) {
    begun = true;
    inNextTurn(() => void turn());
  }
  atOnce = true;
  return timed(work);
}

async function inTurn<T>(work: () => T, whose: unknown): Promise<Awaited<T>> {
  // The work must run in its own asynchronous context, so it does not run in `turn`.
  await new Promise<void>((resolve) => {
    const queue = waiting.get(whose);
    if (queue) queue.push(resolve);
    else waiting.set(whose, [resolve]);
  });
  return await timed(work);
}

/** Lets the next work run. */
function next(): void {
  for (const [whose, queue] of waiting) {
    const run = queue.shift()!;
    // The map is read in its order, so these come again after all others.
    waiting.delete(whose);
    if (queue.length > 0) waiting.set(whose, queue);
    return run();
  }
}

function timed<T>(work: () => T): T {
  // Work inside other work is part of it.
  if (since !== undefined) return work();
  since = performance.now();
  try {
    return work();
  } finally {
    spent += running();
    since = undefined;
  }
}

/** How long the work that runs now has taken so far. Milliseconds. */
function running(): number {
  return since === undefined ? 0 : performance.now() - since;
}

/** A turn begins. */
async function turn(): Promise<void> {
  // In Node, a turn begins right after the events of sockets, where work runs at once. If that took long, timers and
  // sockets come first.
  const isLate = atOnce && spent > MAX_TIME;
  atOnce = false;
  spent = 0;
  begun = waiting.size > 0;
  if (begun) inNextTurn(() => void turn());
  if (isLate) return;
  // What its caller does with the result of cheap work may take longer than the work.
  const end = performance.now() + MAX_TIME;
  while (waiting.size > 0 && performance.now() <= end) {
    next();
    // The work runs now.
    await Promise.resolve();
  }
}
