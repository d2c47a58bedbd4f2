import { expect, test } from 'vitest';
import { shortestProcessorTime } from '../../test/support/processor-time.ts';
import { printableLine } from './printable.ts';

test.each([
  ['control characters', '\u001b', 4_000_000],
  ['control characters between others', 'a\u001b', 2_000_000],
  ['joiners', '\u200d', 4_000_000],
  ['lone surrogates', '\ud800', 4_000_000],
  ['variation selectors', '\ufe0f', 2_000_000],
  ['variation selectors after emoji', '⚠\ufe0f', 1_000_000],
  ['joiners between letters', 'क\u200d', 1_000_000],
  ['line breaks and tabs', '\n\t', 2_000_000],
])('%s take time in proportion to their number: millions take less than 250 ms', (_, text, count) => {
  const long = text.repeat(count);
  expect(shortestProcessorTime(() => printableLine(long))).toBeLessThan(250);
});
