import { expect, test } from 'vitest';
import { typeCheck } from '../bench/type-check.ts';

test('a server of 500 tools is type-checked, and every argument is inferred', { timeout: 120_000 }, async () => {
  const milliseconds = await typeCheck(500);
  console.info(`tsc --noEmit, a server of 500 tools: ${milliseconds.toFixed(0)} ms`);
  expect(milliseconds).toBeGreaterThan(0);
});
