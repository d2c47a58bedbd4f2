import { expect, test } from 'vitest';
import { claimsSuite } from '../testing/contracts/claims-suite.ts';
import { memoryClaims } from './memory-claims.ts';

const suite = claimsSuite(async (count) => {
  const gone = new Set<string>();
  const join = memoryClaims((node) => !gone.has(node));
  return Array.from({ length: count }, (_, n) => {
    const node = `n${n}`;
    return { node, claims: join(node), end: async () => void gone.add(node) };
  });
});

for (const { name, run } of suite) test(name, run);

test('a process that was away learns what it has lost', async () => {
  const gone = new Set<string>();
  const join = memoryClaims((node) => !gone.has(node));
  const [a, b] = [join('a'), join('b')];
  const lost: string[] = [];
  a.onlost((key) => lost.push(key));
  await a.claim('one');
  await a.claim('two');
  gone.add('a');
  expect(a.holds('one')).toBe(false);
  await b.claim('one');
  gone.delete('a');
  expect([a.holds('one'), a.holds('two'), lost]).toEqual([false, true, ['one']]);
});
