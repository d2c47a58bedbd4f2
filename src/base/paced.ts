import { inNextTurn } from './next-turn.ts';
import { nextTurn } from './wait.ts';

/** How many notifications are accepted in one turn of the event loop. The next one waits for another turn. */
const PER_TURN = 100;

let accepted = 0;
const restart = (): void => {
  accepted = 0;
};

/**
 * Lets the event loop run between notifications. A handler that only awaits its notifications would otherwise block the
 * process, even from receiving its own cancellation, because accepted notifications settle within the same turn.
 */
export function paced(sent: Promise<void>): Promise<void> {
  if (accepted === 0) inNextTurn(restart);
  accepted += 1;
  if (accepted <= PER_TURN) return sent;
  const later = sent.then(nextTurn);
  // An unawaited rejection must not end the process. The loss is reported where it happens.
  later.catch(() => {});
  return later;
}
