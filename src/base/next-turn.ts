/** Runs a function in the next turn of the event loop. `next-turn.browser.ts` replaces this in browsers. */
export function inNextTurn(run: () => void): void {
  setImmediate(run);
}
