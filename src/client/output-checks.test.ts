import { expect, test, vi } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { printable } from '../base/printable.ts';
import { OutputChecks } from './output-checks.ts';

function knowing(outputSchema: JsonObject | undefined) {
  const onerror = vi.fn<(error: Error) => void>();
  const checks = new OutputChecks(onerror);
  checks.catalog.learn({ tools: [{ name: 'a', outputSchema }] });
  return { checks, onerror };
}

const count = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

test('structured content is checked against the schema of its tool', async () => {
  const { checks } = knowing(count);
  await checks.check('a', { structuredContent: { n: 1 } });
  await expect(checks.check('a', { structuredContent: { n: 'x' } })).rejects.toThrow('n: must be integer');
  await expect(checks.check('a', {})).rejects.toMatchObject({ name: 'InvalidResultError' });
});

test('errors are not checked, nor results of tools that are unknown, no longer known, or without a schema', async () => {
  const { checks, onerror } = knowing(count);
  const isRefused = (name: string, result: JsonObject): Promise<boolean> =>
    checks.check(name, result).then(
      () => false,
      () => true,
    );
  expect(await isRefused('a', {})).toBe(true);
  expect(await isRefused('a', { isError: true })).toBe(false);
  expect(await isRefused('b', { structuredContent: 'x' })).toBe(false);
  checks.catalog.learn({ tools: [{ name: 'a' }, 7, {}] });
  expect(await isRefused('a', {})).toBe(false);
  checks.catalog.learn({ tools: [{ name: 'a', outputSchema: count }] });
  expect(await isRefused('a', {})).toBe(true);
  checks.catalog.learn({});
  expect(await isRefused('a', {})).toBe(true);
  checks.catalog.forget();
  expect(await isRefused('a', {})).toBe(false);
  expect(onerror).not.toHaveBeenCalled();
});

test.each<[string, JsonObject]>([
  ['an external reference', { $ref: 'https://example.com/schema' }],
  ['an unknown dialect', { $schema: 'https://example.com/dialect' }],
  ['an invalid pattern', { pattern: '(' }],
  ['an unknown keyword', { type: 'nonsense' }],
])('a schema with %s is reported once, and nothing is checked', async (_, schema) => {
  const { checks, onerror } = knowing(schema);
  await checks.check('a', { structuredContent: 1 });
  await checks.check('a', { structuredContent: 2 });
  expect(onerror).toHaveBeenCalledTimes(1);
});

test('a slow pattern is checked in bounded time', async () => {
  const { checks } = knowing({ type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } });
  await checks.check('a', { structuredContent: { s: 'a'.repeat(40) } });
  await expect(checks.check('a', { structuredContent: { s: `${'a'.repeat(40)}!` } })).rejects.toThrow(
    'must match pattern',
  );
});

test('a result that needs too many steps to check is refused', async () => {
  const { checks, onerror } = knowing({ uniqueItems: true });
  const structuredContent = Array.from({ length: 300_000 }, (_, id) => ({ id }));
  await expect(checks.check('a', { structuredContent })).rejects.toThrow(
    'The result of the tool a does not match its output schema: is too large to check (more than 5,000,000 steps)',
  );
  expect(onerror).not.toHaveBeenCalled();
});

test('a schema that cannot be used is reported once, without control characters of the server', async () => {
  const { checks, onerror } = knowing(undefined);
  checks.catalog.learn({ tools: [{ name: '\u001b', outputSchema: { pattern: '(\u009b' } }] });
  for (let n = 0; n < 2; n += 1) await checks.check('\u001b', { structuredContent: 'x' });
  expect(onerror).toHaveBeenCalledTimes(1);
  const { message } = onerror.mock.lastCall![0];
  expect(message).toContain('Results of the tool \\u001b are not checked');
  expect(message).toBe(printable(message));
});
