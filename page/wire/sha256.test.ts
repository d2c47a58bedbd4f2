import { expect, test } from 'vitest';
import { sha256 } from '../../test/support/captured.ts';
import { Sha256 } from './sha256.ts';

test('the hash is that of Node, for every length and however the bytes are split', () => {
  const bytes = Buffer.from(Array.from({ length: 300 }, (_, at) => (at * 151) % 256));
  for (let length = 0; length <= bytes.length; length += 1) {
    const hash = new Sha256();
    const middle = (length * 7) % 130;
    hash.push(bytes.subarray(0, Math.min(middle, length)));
    hash.push(bytes.subarray(Math.min(middle, length), length));
    expect(hash.digest(), String(length)).toBe(sha256(bytes.subarray(0, length)));
  }
});
