import { describe, expect, test } from 'vitest';
import { textsOfParts, token } from '../../test/support/long-tokens.ts';
import { scrubber } from './scrub.ts';

/** The text without secrets, if that takes little time. */
function quickly(secret: string, text: string): string {
  const scrub = scrubber([secret]);
  const started = process.cpuUsage();
  const clean = scrub(text);
  expect(process.cpuUsage(started).user).toBeLessThan(250_000);
  return clean;
}

test('parts of a secret are removed quickly from very many lines', () => {
  const secret = 'abcdef-0123456789-uvwxyz';
  const text = `${secret.slice(0, 12)}\n${secret.slice(-12)} ${secret.slice(0, 12)} \n`.repeat(20_000);
  expect(quickly(secret, text)).not.toContain('abcdef-01234\n');
});

describe('a server that chooses its token and the text cannot make it take long:', () => {
  test.each(textsOfParts)('%s', (_, text) => {
    expect(quickly(token, text)).not.toContain(`${token}\n`);
  });
});
