/** So many notifications may be taken in one turn of the event loop; the next waits for another turn. */
const PER_TURN = 100;

let taken = 0;
const restart = (): void => {
  taken = 0;
};
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * A handler that does little but await its notifications would keep the process from everything else, even from hearing
 * that it is cancelled: what is taken at once settles before the event loop turns. So now and then it waits for a turn.
 */
export function inTurn(sent: Promise<void>): Promise<void> {
  if (taken === 0) setImmediate(restart);
  taken += 1;
  if (taken <= PER_TURN) return sent;
  const later = sent.then(nextTurn);
  // Whoever does not await it must not end the process by it; the loss is reported where it happens.
  later.catch(() => {});
  return later;
}
