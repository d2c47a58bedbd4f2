import { expect, test } from 'vitest';
import { TestHttp } from '../support/http.ts';
import { scripted } from '../support/service.ts';

test('what is said in one session is heard in no other', async () => {
  const { service, seen } = scripted({}, { logging: {} });
  const http = new TestHttp(service);
  const [ours, theirs] = [await http.open(), await http.open()];
  const [heard, overheard] = [await ours.events(), await theirs.events()];
  await ours.call(1, 'echo');
  const exchange = seen.at(-1)!;
  const complete = { elicitationId: 'e' };
  await exchange.notify('notifications/message', { level: 'info', data: 'ours' });
  await exchange.notify('notifications/elicitation/complete', complete);
  expect(await heard.message()).toMatchObject({ params: { data: 'ours' } });
  expect(await heard.message()).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/elicitation/complete',
    params: complete,
  });
  await theirs.delete();
  expect((await overheard.rest()).filter(({ data }) => data)).toEqual([]);
});
