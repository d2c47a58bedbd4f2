import { expect, test } from 'vitest';
import { apiKeyAuth } from '../../src/auth/index.ts';
import { initialize, TestHttp } from '../support/http.ts';
import { scripted } from '../support/service.ts';

test('messages of one session reach no other', async () => {
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

test('the credential identifies the caller, whatever the client claims', async () => {
  const { service, seen } = scripted();
  const http = new TestHttp(service, { auth: apiKeyAuth({ keys: { 'key-of-ada': 'ada' } }) });
  const claims = { principal: 'root', user: 'root', auth: { principal: 'root' } };
  const credential = { 'x-api-key': 'key-of-ada' };
  const { params } = initialize();
  const opening = {
    ...initialize(),
    params: { ...params, clientInfo: { ...params.clientInfo, ...claims }, ...claims },
  };
  const opened = await http.post(opening, credential);
  const headers = { ...credential, 'mcp-session-id': opened.headers.get('mcp-session-id')!, 'x-user': 'root' };
  const call = { jsonrpc: '2.0', id: 1, method: 'echo', params: { ...claims, _meta: claims } };
  expect((await http.post(call, headers)).status).toBe(200);
  expect(seen.map(({ method }) => method)).toContain('echo');
  for (const { caller } of seen) expect([caller.principal, caller.auth?.principal]).toEqual(['ada', 'ada']);
});
