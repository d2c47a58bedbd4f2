import { expect, onTestFinished, test, vi } from 'vitest';
import { calling } from '../../test/support/legacy-server.ts';
import { nextTurn } from '../base/wait.ts';
import { derive } from '../core/derive.ts';
import type { Exchange } from '../core/exchange.ts';
import { request, type JsonObject } from '../jsonrpc/message.ts';
import type { ClientOptions } from './options.ts';

test('the cost of a question that any call may have asked does not grow with the calls in flight', async () => {
  const { client, server } = await calling({ onroots: () => new Promise(() => {}) });
  const calls = Array.from({ length: 10_000 }, () => client.callTool('slow').catch(() => {}));
  await vi.waitUntil(() => server.inbox.length === calls.length);
  const before = process.cpuUsage();
  await server.send(...Array.from({ length: 900 }, (_, n) => request(`question ${n}`, 'roots/list')));
  // The processor time of this process only. It took 1.1 seconds when each question looked at all calls.
  expect(process.cpuUsage(before).user).toBeLessThan(500_000);
  await client.close();
  await Promise.all(calls);
});

test('a call that begins while a user answers times out only after the answer', async () => {
  const answers: (() => void)[] = [];
  const { client, server } = await calling({
    onroots: () => new Promise((resolve) => answers.push(() => resolve([]))),
  });
  const one = client.callTool('one').catch(() => {});
  const other = client.callTool('other').catch(() => {});
  await server.send(request('question', 'roots/list'));
  await vi.waitUntil(() => answers.length === 1);
  let ended = false;
  const late = client.callTool('late', {}, { timeout: 20 }).catch((error: Error) => {
    ended = true;
    return error.name;
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(ended).toBe(false);
  answers[0]!();
  expect(await late).toBe('TimeoutError');
  await client.close();
  await Promise.all([one, other]);
});

test.each<[string, ClientOptions, string, JsonObject]>([
  ['without a handler', {}, 'roots/list', {}],
  ['that are invalid', { onelicit: () => ({ action: 'cancel' }) }, 'elicitation/create', { message: 'No form' }],
])(
  'many questions %s that arrive together do not stop the clock of a call',
  async (_which, handlers, method, params) => {
    const { client, server } = await calling(handlers);
    vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    client.use((next) => (exchange) => {
      const ask: Exchange['ask'] = (...question) => {
        // So long each question takes.
        vi.advanceTimersByTime(1000);
        return exchange.ask(...question);
      };
      return next(derive(exchange, { ask }));
    });
    let ended: unknown;
    const call = client.callTool('slow', {}, { timeout: 10_000 }).catch((error: Error) => (ended = error.name));
    while (server.inbox.length === 0) await nextTurn();
    await Promise.all(
      Array.from({ length: 100 }, (_, n) => server.transport.send(request(`question ${n}`, method, params))),
    );
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    expect(ended).toBe('TimeoutError');
    await call;
  },
);

/** A schema that takes more steps to check than any check may. */
const costly = {
  type: 'object',
  allOf: [{ $ref: '#/$defs/0' }],
  $defs: Object.fromEntries(
    Array.from({ length: 25 }, (_, i) => [
      i,
      i === 24 ? {} : { allOf: [1, 2].map(() => ({ $ref: `#/$defs/${i + 1}` })) },
    ]),
  ),
};

test('answers to forms that arrive together are checked in different turns of the event loop, in order', async () => {
  const { client, server } = await calling({ onelicit: () => ({ action: 'accept', content: {} }) });
  const call = client.callTool('slow').catch(() => {});
  await vi.waitUntil(() => server.inbox.length === 1);
  let turn = 0;
  let running = true;
  const turns: { readonly turn: number; readonly message: unknown }[] = [];
  void (async () => {
    for (let seen = 1; running; turn += 1) {
      await new Promise(setImmediate);
      for (const message of server.inbox.slice(seen)) turns.push({ turn, message });
      seen = server.inbox.length;
    }
  })();
  const ids = ['a', 'b', 'c', 'd'];
  const params = { message: 'Who?', requestedSchema: costly };
  await server.send(...ids.map((id) => request(id, 'elicitation/create', params)));
  await vi.waitUntil(() => turns.length === ids.length, { timeout: 30_000 });
  running = false;
  expect(turns.map(({ message }) => (message as { id: unknown }).id)).toEqual(ids);
  expect(new Set(turns.map((each) => each.turn)).size).toBe(ids.length);
  await client.close();
  await call;
});

test('many costly forms of one server do not keep the form of another one waiting', async () => {
  const options: ClientOptions = { onelicit: () => ({ action: 'accept', content: {} }) };
  const [many, one] = [await calling(options), await calling(options)];
  const calls = [many, one].map(({ client }) => client.callTool('slow').catch(() => {}));
  for (const { server } of [many, one]) await server.heard();
  const params = { message: 'Who?', requestedSchema: costly };
  const questions = Array.from({ length: 8 }, (_, n) => request(`question ${n}`, 'elicitation/create', params));
  for (const question of questions) void many.server.transport.send(question);
  void one.server.transport.send(questions[0]!);
  await vi.waitUntil(() => one.server.inbox.length === 1, { interval: 1 });
  expect(many.server.inbox.length).toBeLessThan(questions.length - 1);
  await Promise.all([many.client.close(), one.client.close()]);
  await Promise.all(calls);
});
