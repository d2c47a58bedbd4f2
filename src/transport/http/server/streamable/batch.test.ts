import { expect, test } from 'vitest';
import { constant } from '../../../../jsonrpc/stringify.ts';
import { Events, TestHttp, initialize } from '../../../../../test/support/http.ts';
import { aborted, deferred, scripted, settled } from '../../../../../test/support/service.ts';

const { service } = scripted({
  wait: ({ signal }) => aborted(signal).then(() => ({})),
  log: async (exchange) => {
    await exchange.notify('notifications/message', { level: 'info', data: 'working' });
    return { logged: true };
  },
});
const request = (id: string | number, method: string) => ({ jsonrpc: '2.0', id, method });
const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
const result = (id: string | number, value: object) => ({ jsonrpc: '2.0', id, result: value });

test.each(['2024-11-05', '2025-06-18', '2025-11-25'])('a batch is refused in %s', async (revision) => {
  const session = await new TestHttp(service).open(revision);
  const response = await session.post([request(1, 'ping')]);
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: { code: number; message: string } };
  expect(error.code).toBe(-32600);
  expect(error.message).toContain('batches exist only in revision 2025-03-26');
  expect(error.message).toContain(revision);
});

test('the requests of a batch are answered with one batch', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const response = await session.post([request('a', 'echo'), note, request(2, 'unheard/of')]);
  expect(response.headers.get('content-type')).toBe('application/json');
  const answers = (await response.json()) as { id: unknown }[];
  expect(answers).toHaveLength(2);
  expect(answers).toContainEqual(result('a', { params: {} }));
  expect(answers).toContainEqual({ jsonrpc: '2.0', id: 2, error: { code: -32601, message: expect.any(String) } });
});

test('a batch of one request is answered with a batch of one response', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  expect(await (await session.post([request(1, 'ping')])).json()).toEqual([result(1, {})]);
});

test('the requests of a batch are answered on one stream if a notification comes before the responses', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const events = new Events(await session.post([request(1, 'ping'), request(2, 'log'), request(3, 'ping')]));
  expect(events.response.headers.get('content-type')).toBe('text/event-stream');
  const messages = (await events.rest()).map(({ data }) => JSON.parse(data!));
  expect(messages).toHaveLength(4);
  for (const expected of [result(1, {}), result(2, { logged: true }), result(3, {})]) {
    expect(messages).toContainEqual(expected);
  }
  expect(messages).toContainEqual({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'working' },
  });
});

test('a batch without requests gets 202', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const response = await session.post([note, { jsonrpc: '2.0', id: 5, result: {} }]);
  expect(response.status).toBe(202);
  expect(await response.text()).toBe('');
});

test('invalid messages of a batch are answered together with the others', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const invalid = { code: -32600, message: expect.any(String) };
  const answers = await (
    await session.post([1, request(1, 'ping'), { jsonrpc: '2.0', id: 'x' }, request(1, 'ping')])
  ).json();
  expect(answers).toEqual([
    { jsonrpc: '2.0', error: invalid },
    { jsonrpc: '2.0', id: 'x', error: invalid },
    { jsonrpc: '2.0', error: { code: -32600, message: expect.stringContaining('twice') } },
    result(1, {}),
  ]);
  const rejected = await session.post([1]);
  expect(rejected.status).toBe(400);
  expect(await rejected.json()).toEqual([{ jsonrpc: '2.0', error: invalid }]);
});

test('initialize must not be part of a batch', async () => {
  const http = new TestHttp(service);
  expect((await http.post([initialize()])).status).toBe(400);
  const session = await http.open('2025-03-26');
  const response = await session.post([initialize()]);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject([{ error: { message: expect.stringContaining('initialize') } }]);
});

test('a request with an id in flight is refused, and the rest of its batch is answered', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const pending = session.post([request(1, 'wait'), request(2, 'ping')]);
  await settled();
  const answers = await (await session.post([request(3, 'echo'), request(1, 'echo')])).json();
  expect(answers).toEqual([
    { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid request: id 1 is still in use' } },
    result(3, { params: {} }),
  ]);
  await session.notify('notifications/cancelled', { requestId: 1 });
  // The cancelled request gets no response, and does not delay the others.
  expect(await (await pending).json()).toEqual([result(2, {})]);
});

test('ids of cancelled requests that are used again too early are refused, and the session goes on', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const ids = Array.from({ length: 30 }, (_, id) => id);
  const cancelled = (requestId: number) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId },
  });
  await session.post(ids.flatMap((id) => [request(id, 'wait'), cancelled(id)]));
  const answers = (await (await session.post(ids.map((id) => request(id, 'ping')))).json()) as object[];
  expect(answers).toHaveLength(30);
  for (const answer of answers) {
    if ('result' in answer) continue;
    const message = expect.stringMatching(/^Invalid request: id \d+ is still in use$/);
    expect(answer).toMatchObject({ id: expect.any(Number), error: { code: -32600, message } });
  }
  expect(await (await session.post([request('later', 'ping')])).json()).toEqual([result('later', {})]);
});

test('a batch of more than 1000 messages is refused', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  expect((await session.post(Array.from({ length: 1001 }, (_, id) => request(id, 'ping')))).status).toBe(400);
});

test('the ids of one body have at most 65,536 characters together', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const half = (n: number): object => request('x'.repeat(32_767) + n, 'ping');
  const longest = await session.post(request('x'.repeat(65_536), 'ping'));
  for (const accepted of [longest, await session.post([half(1), half(2), request(3, 'ping')])])
    expect(accepted.status).toBe(200);
  for (const body of [request('x'.repeat(65_537), 'ping'), [half(1), half(2), request('3', 'ping')]]) {
    const refused = await session.post(body);
    expect(refused.status).toBe(400);
    const message = 'Invalid request: the ids of one body may have at most 65536 characters together';
    expect(await refused.json()).toEqual({ jsonrpc: '2.0', error: { code: -32600, message } });
  }
});

test('a large batch counts its bytes once, not once for each of its requests', async () => {
  const session = await new TestHttp(service).open('2025-03-26');
  const filler = 'x'.repeat(90_000);
  const batch = Array.from({ length: 40 }, (_, id) => ({ ...request(id, 'echo'), params: { filler } }));
  const answers = (await (await session.post(batch)).json()) as object[];
  expect(answers).toHaveLength(40);
  for (const answer of answers) expect(answer).toHaveProperty('result');
});

test('a constant result that many requests of a batch get is converted to JSON once', async () => {
  let read = 0;
  const list = constant({
    get value() {
      return [(read += 1)];
    },
  });
  const session = await new TestHttp(() => Promise.resolve(list)).open('2025-03-26');
  const ids = Array.from({ length: 100 }, (_, id) => id);
  const answers = await (await session.post(ids.map((id) => request(id, 'constant')))).json();
  expect(answers).toEqual(ids.map((id) => result(id, { value: [1] })));
});

test('large answers to a batch on one stream are written in several turns of the event loop', async () => {
  const large = constant({ text: 'x'.repeat(100_000) });
  const http = new TestHttp(async (exchange) => {
    if (exchange.method === 'log') await exchange.notify('notifications/message', { level: 'info', data: 'working' });
    return large;
  });
  const session = await http.open('2025-03-26');
  let turns = 0;
  const counting = setInterval(() => void (turns += 1), 0);
  const batch = [request('log', 'log'), ...Array.from({ length: 99 }, (_, id) => request(id, 'constant'))];
  const messages = await new Events(await session.post(batch)).rest();
  clearInterval(counting);
  expect(messages.filter(({ data }) => data?.includes('"result"'))).toHaveLength(100);
  expect(turns).toBeGreaterThan(10);
});

test('large batches take turns, so that the requests of others come between them', async () => {
  const seen: string[] = [];
  const http = new TestHttp(async ({ method }) => {
    if (!method.startsWith('busy/') && method !== 'short') return {};
    if (seen.at(-1) !== method) seen.push(method);
    const end = performance.now() + 2;
    while (performance.now() < end);
    return {};
  });
  const sessions = await Promise.all([1, 2, 3, 4, 5, 6].map(() => http.open('2025-03-26')));
  const other = await http.open('2025-03-26');
  const posts = sessions.map((session, at) =>
    session.post(Array.from({ length: 30 }, (_, id) => request(id, `busy/${at}`))),
  );
  const responses = await Promise.all([...posts, other.post(request(1, 'short'))]);
  expect(responses.map(({ status }) => status)).toEqual(Array(7).fill(200));
  expect(seen).toHaveLength(7);
  expect(seen.at(-1)).toBe('busy/5');
});

test('large messages take turns, too', async () => {
  const seen: string[] = [];
  const http = new TestHttp(async ({ method }) => {
    if (method !== 'busy' && method !== 'short') return {};
    seen.push(method);
    const end = performance.now() + 15;
    while (performance.now() < end);
    return {};
  });
  const [session, other] = [await http.open(), await http.open()];
  const params = { filler: 'x'.repeat(20_000) };
  const posts = Array.from({ length: 10 }, (_, id) => session.post({ ...request(id, 'busy'), params }));
  const responses = await Promise.all([...posts, other.post(request(10, 'short'))]);
  expect(responses.map(({ status }) => status)).toEqual(Array(11).fill(200));
  expect(seen).toHaveLength(11);
  expect(seen.at(-1)).toBe('busy');
});

test('a cancellation does not overtake its request, which is large and waits for its turn', async () => {
  const cancelled = deferred();
  const http = new TestHttp(async ({ method, signal }) => {
    if (method === 'slow') {
      await aborted(signal);
      cancelled.resolve();
    }
    if (method !== 'busy') return {};
    const end = performance.now() + 30;
    while (performance.now() < end);
    return {};
  });
  const session = await http.open();
  const params = { filler: 'x'.repeat(20_000) };
  const posts = [1, 2, 3].map((id) => session.post({ ...request(id, 'busy'), params }));
  void session.post({ ...request(4, 'slow'), params });
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } };
  expect((await session.post(cancel)).status).toBe(202);
  await cancelled.promise;
  for (const { status } of await Promise.all(posts)) expect(status).toBe(200);
});

test('a cancellation that comes before its request cancels it, and no other', async () => {
  const ended: unknown[] = [];
  const cancelled = deferred();
  const http = new TestHttp(async ({ method, params, signal }) => {
    if (method !== 'slow') return {};
    await aborted(signal);
    ended.push(params['of']);
    cancelled.resolve();
    return {};
  });
  const [session, other] = [await http.open(), await http.open()];
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } };
  expect((await session.post(cancel)).status).toBe(202);
  void other.post({ ...request(4, 'slow'), params: { of: 'other' } });
  const response = await session.post({ ...request(4, 'slow'), params: { of: 'session' } });
  expect(await response.text()).not.toContain('"id":4');
  await cancelled.promise;
  expect(ended).toEqual(['session']);
  expect(await (await session.post(request(4, 'quick'))).json()).toEqual({ jsonrpc: '2.0', id: 4, result: {} });
});

test('a late cancellation does not cancel a later request with the same id', async () => {
  const session = await new TestHttp(service).open();
  const answer = { jsonrpc: '2.0', id: 4, result: { params: {} } };
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await (await session.post(request(4, 'echo'))).json()).toEqual(answer);
    await session.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } });
  }
});
