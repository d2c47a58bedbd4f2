import { expect, test, vi } from 'vitest';
import { calling } from '../../test/support/legacy-server.ts';
import { request } from '../jsonrpc/message.ts';

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
