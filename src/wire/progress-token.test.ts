import { expect, test } from 'vitest';
import { ModernClient } from '../../test/support/modern.ts';
import { scripted } from '../../test/support/service.ts';
import { opened } from '../../test/support/wire.ts';
import { progressTokenOf } from './progress-token.ts';

const LONGEST = 't'.repeat(1024);
const TOO_LONG = {
  code: -32602,
  message: 'Invalid params: "progressToken" is longer than 1024 characters',
};

test('a request with a progress token of up to 1024 characters is served, and no longer one', async () => {
  const { service, seen } = scripted({ 'tools/call': () => ({}) });
  const { client } = await opened(service);
  const params = { name: 'work', _meta: { progressToken: LONGEST } };
  const long = { name: 'work', _meta: { progressToken: `${LONGEST}t` } };
  expect(await client.request(1, 'tools/call', params)).toMatchObject({ result: {} });
  expect(await client.request(2, 'tools/call', long)).toMatchObject({ error: TOO_LONG });

  const modern = new ModernClient(service);
  expect(await modern.result('tools/call', params)).toMatchObject({});
  expect(await modern.error('tools/call', long)).toMatchObject(TOO_LONG);
  expect(seen.filter(({ method }) => method === 'tools/call')).toHaveLength(2);
});

test.each([[undefined], [null], [1.5], [{}], [true]])('%j is not a progress token', (progressToken) => {
  expect(progressTokenOf({ _meta: { progressToken } })).toBeUndefined();
  expect(progressTokenOf({ _meta: progressToken })).toBeUndefined();
});
