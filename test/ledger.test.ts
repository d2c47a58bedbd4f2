import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checkLedger } from '../scripts/ledger.ts';

test('every statement in the ledger has a test that exists, or a reason', () => {
  expect(checkLedger(fileURLToPath(new URL('..', import.meta.url)))).toEqual([]);
});
