/** Maximum number of notifications accepted in one turn of the event loop. The next one waits for another turn. */
const PER_TURN = 100;

let taken = 0;
const restart = (): void => {
  taken = 0;
};
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Lets the event loop run between notifications. A handler that only awaits its notifications would otherwise block the
 * process, even from receiving its own cancellation, because accepted notifications settle within the same turn.
 */
export function inTurn(sent: Promise<void>): Promise<void> {
  if (taken === 0) setImmediate(restart);
  taken += 1;
  if (taken <= PER_TURN) return sent;
  const later = sent.then(nextTurn);
  // An unawaited rejection must not end the process. The loss is reported where it happens.
  later.catch(() => {});
  return later;
}
