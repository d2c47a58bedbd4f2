import type { Holder } from '../../../base/buffer-budget.ts';
import { receiveBudget, receiveBudgetExceeded } from '../../../base/receive-budget.ts';
import { MAX_AT_ONCE } from '../../../base/parsed-at-once.ts';
import { inShortTurns } from '../../../base/short-turns.ts';
import { textMemory } from '../../../base/text-memory.ts';

/**
 * Parses a text of a server. A large one is parsed in turn with others: servers can complete hundreds of texts, each with
 * two hundred thousand values, in one turn of the event loop. While it waits, its memory is counted.
 *
 * @param peer whose text it is. Peers take turns.
 * @throws (rejects) the error of `parse`, or an error if there is no memory for texts that wait.
 */
export function parsedInTurn<T>(text: string, peer: string, parse: (text: string) => T): T | Promise<Awaited<T>> {
  if (text.length <= MAX_AT_ONCE) return parse(text);
  let kept: string | undefined = text;
  const holder: Holder = {
    held: 0,
    cutOff: () => {
      kept = undefined;
    },
  };
  receiveBudget.hold(holder, textMemory(text));
  return inShortTurns(() => {
    receiveBudget.hold(holder, 0);
    if (kept === undefined) throw receiveBudgetExceeded();
    return parse(kept);
  }, peer);
}
