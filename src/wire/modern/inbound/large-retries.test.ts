import { expect, test } from 'vitest';
import { ModernClient, type TestReply } from '../../../../test/support/modern.ts';
import { scripted } from '../../../../test/support/service.ts';
import { nextTurn } from '../../../base/wait.ts';

const BYTES = 100_000;

/** Retries whose arguments take longer to compare than the work of one turn of the event loop may. */
async function setUp() {
  const compared: string[] = [];
  const { service, seen } = scripted({ 'tools/call': (exchange) => exchange.ask('roots/list', {}) });
  const client = new ModernClient(service);
  const params = async (principal: string) => {
    const asked = await client.request('tools/call', { name: 'tool', arguments: {} }, { principal });
    return {
      name: 'tool',
      arguments: {
        get costly() {
          compared.push(principal);
          const end = performance.now() + 25;
          while (performance.now() < end);
          return 1;
        },
      },
      requestState: asked.response.result.requestState,
      inputResponses: {},
    };
  };
  const [many, one] = [await params('many'), await params('one')];
  const retry = (principal: string): TestReply =>
    client.send('tools/call', principal === 'many' ? many : one, { principal, bytes: BYTES });
  await nextTurn();
  return { client, compared, seen, retry };
}

test('a caller does not wait for all large retries of another one', async () => {
  const { compared, retry } = await setUp();
  const flood = Array.from({ length: 8 }, () => retry('many'));
  const { response } = await retry('one').answered;
  expect(response.error).toMatchObject({ code: -32602, message: expect.stringContaining('another request') });
  expect(compared.indexOf('one')).toBeLessThan(4);
  for (const reply of flood) expect((await reply.answered).response.error).toMatchObject({ code: -32602 });
});

test('many large retries leave turns of the event loop to others', async () => {
  const { compared, retry } = await setUp();
  const flood = Array.from({ length: 8 }, () => retry('many'));
  await nextTurn();
  expect(compared.length).toBeLessThan(4);
  await Promise.all(flood.map((reply) => reply.answered));
  expect(compared).toHaveLength(8);
});

test('the large retry of a caller that has left, or that comes before the end, is not taken', async () => {
  const { client, compared, seen, retry } = await setUp();
  const [first, ...rest] = Array.from({ length: 5 }, () => retry('many'));
  const late = rest.pop()!;
  for (const { onclose } of rest) onclose!();
  await client.inbound.close(0);
  expect((await late.answered).response.error).toMatchObject({ message: expect.stringContaining('shutting down') });
  await first!.answered;
  expect(rest.map(({ response }) => response)).toEqual([undefined, undefined, undefined]);
  expect(compared).toHaveLength(1);
  expect(seen).toHaveLength(2);
});
