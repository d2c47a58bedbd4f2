import { excessOf } from '../src/jsonrpc/bounds.ts';

/** Texts that take the check of depth and keys longest, for their length. */
const TEXTS: Readonly<Record<string, string>> = {
  'escaped quotes': `["${String.raw`\"`.repeat(2 ** 22)}"]`,
  'short strings': `[${'"",'.repeat(2 ** 20)}0]`,
};
const ROUNDS = 20;

/** How long the check of a text takes that comes before it is parsed, in milliseconds and in relation to parsing it. */
export function checkCosts(): { what: string; milliseconds: number; ofParsing: number }[] {
  return Object.entries(TEXTS).map(([what, text]) => {
    let [check, parse] = [Infinity, Infinity];
    for (let round = 0; round < ROUNDS; round += 1) {
      check = Math.min(
        check,
        cost(() => excessOf(text, 1000, Infinity)),
      );
      parse = Math.min(
        parse,
        cost(() => JSON.parse(text)),
      );
    }
    return { what, milliseconds: check / 1000, ofParsing: check / parse };
  });
}

function cost(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  return process.cpuUsage(start).user;
}
