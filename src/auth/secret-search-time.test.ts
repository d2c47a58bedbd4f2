import { expect, test } from 'vitest';
import { SecretSearch } from './secret-search.ts';

test('many secrets, with one seed or with many, take no longer than one', () => {
  const tokens = Array.from({ length: 4000 }, (_, at) => `eyJhbGciOiJIUzI1NiJ9.${at}.${at * 7919}`);
  const names = Array.from({ length: 4000 }, (_, at) => `${(at * 7919 + 1e9).toString(36)}-${at}`);
  for (const secrets of [tokens, names]) {
    const search = new SecretSearch(secrets, false);
    const text = secrets.map((secret) => `got ${secret} now `).join('');
    const started = process.cpuUsage();
    expect(search.find(text, false)).toHaveLength(4000);
    for (const secret of secrets) search.find(`not ${secret.slice(0, -1)}`, false);
    expect(process.cpuUsage(started).user).toBeLessThan(500_000);
  }
});

test('a text that begins like long secrets again and again is searched in linear time', () => {
  const secrets = [`${'a'.repeat(4000)}b`, `${'a'.repeat(4000)}c`];
  const started = process.cpuUsage();
  expect(new SecretSearch(secrets, false).find(`${'a'.repeat(30_000)}b`, false)).toEqual([[26_000, 30_001]]);
  expect(process.cpuUsage(started).user).toBeLessThan(500_000);
});
