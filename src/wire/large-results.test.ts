import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { initialize, POST_HEADERS } from '../../test/support/http.ts';
import { ModernHttp } from '../../test/support/modern.ts';
import { scripted } from '../../test/support/service.ts';
import { inShortTurns } from '../base/short-turns.ts';
import { nextTurn } from '../base/wait.ts';
import { constant } from '../jsonrpc/stringify.ts';
import { answerInTurns } from './large-results.ts';

/** Writes a result that takes longer to write than the work of one turn of the event loop may. */
function setUp() {
  const written: string[] = [];
  const { service } = scripted({
    work: ({ params: { from } }) => ({
      large: {
        toJSON: () => {
          written.push(from);
          const end = performance.now() + 25;
          while (performance.now() < end);
          return 'done';
        },
        text: 'x'.repeat(100_000),
      },
    }),
  });
  return { written, http: new ModernHttp(service) };
}

type Call = (from: string) => Promise<string>;

const REVISIONS: [string, (http: ModernHttp) => Promise<Call>][] = [
  [
    '2026-07-28',
    async (http) => async (from) => (await http.call('work', { from }, { context: { principal: from } })).text(),
  ],
  [
    '2025-11-25',
    async (http) => {
      const sessions = new Map<string, string>();
      for (const principal of ['many', 'one']) {
        const response = await http.post(initialize(), POST_HEADERS, { principal });
        sessions.set(principal, response.headers.get('mcp-session-id')!);
      }
      let id = 0;
      return async (from) => {
        const headers = { ...POST_HEADERS, 'mcp-session-id': sessions.get(from), 'mcp-protocol-version': '2025-11-25' };
        const request = { jsonrpc: '2.0', id: (id += 1), method: 'work', params: { from } };
        return (await http.post(request, headers, { principal: from })).text();
      };
    },
  ],
];

test.each(REVISIONS)('a client of %s does not wait for all large results of another one', async (_revision, open) => {
  const { written, http } = setUp();
  const call = await open(http);
  const flood = Array.from({ length: 8 }, () => call('many'));
  expect(await call('one')).toContain('done');
  expect(written.indexOf('one')).toBeLessThan(5);
  expect((await Promise.all(flood)).every((text) => text.includes('done'))).toBe(true);
});

test.each(REVISIONS)(
  'many large results for clients of %s leave turns of the event loop to others',
  async (_revision, open) => {
    const { written, http } = setUp();
    const call = await open(http);
    const flood = Array.from({ length: 8 }, () => call('many'));
    while (written.length === 0) await nextTurn();
    await nextTurn();
    expect(written.length).toBeLessThan(4);
    await Promise.all(flood);
    expect(written).toHaveLength(8);
  },
);

test('a handler that has returned a large result asks nothing more', async () => {
  const busy = (): void => {
    const end = performance.now() + 25;
    while (performance.now() < end);
  };
  const { service } = scripted({
    'tools/call': (exchange) => {
      void exchange.ask('roots/list', {}).catch(() => {});
      return Promise.resolve({ text: 'x'.repeat(100_000) });
    },
  });
  const http = new ModernHttp(service);
  // The turns are busy, so the result waits.
  void inShortTurns(busy);
  void inShortTurns(() => {});
  const response = await http.call('tools/call', { name: 'ask' }, { capabilities: { roots: {} } });
  expect(await response.json()).toMatchObject({ result: { resultType: 'complete' } });
});

test('constant results leave turns of the event loop to others', async () => {
  const { caller } = new TestExchange('tools/list');
  let answered = 0;
  const answer = (): void => {
    answered += 1;
    const end = performance.now() + 25;
    while (performance.now() < end);
  };
  await nextTurn();
  for (let count = 0; count < 3; count += 1) answerInTurns(constant({}), caller, answer);
  expect(answered).toBeLessThan(2);
  await expect.poll(() => answered).toBe(3);
});
