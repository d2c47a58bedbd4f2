import { afterEach, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { ModernClient } from '../../test/support/modern.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { InboundOptions } from './serve.ts';
import { RerunByAnnotations } from './rerun.ts';

afterEach(() => void vi.useRealTimers());

const MODERN = { revision: '2026-07-28' } as const;
const tool = (name: string, annotations?: JsonObject): JsonObject => ({
  name,
  inputSchema: { type: 'object' },
  annotations,
});
const PAGES: Record<string, JsonObject> = {
  first: { tools: [tool('plain'), tool('reads', { readOnlyHint: true })], nextCursor: 'second' },
  second: { tools: [tool('again', { idempotentHint: true }), tool('writes', { readOnlyHint: false })] },
};

/** A server whose tools all ask for a name, and return how many times they ran. */
function asking(): { service: Service; runs: Map<unknown, number>; lists: Exchange[] } {
  const runs = new Map<unknown, number>();
  const lists: Exchange[] = [];
  const service: Service = async (exchange) => {
    const { method, params } = exchange;
    if (method === 'tools/list') {
      lists.push(exchange);
      return PAGES[params['cursor'] ?? 'first']!;
    }
    const { name } = params;
    runs.set(name, (runs.get(name) ?? 0) + 1);
    const { content } = await exchange.ask('elicitation/create', {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return { content: [{ type: 'text', text: `hello ${content.name}` }] };
  };
  return { service, runs, lists };
}

const STATE_KEY = 'a key that outlives it';

/** A process in front of a server. What it remembers ends with it. */
function started(service: Service, options: InboundOptions = { stateKey: STATE_KEY }): ModernClient {
  return new ModernClient(service, { ...options, safeToRerun: 'by-annotations', sealState: false });
}

test('a question survives a restart if its tool may rerun, even if no list was requested', async () => {
  const { service, runs, lists } = asking();
  const before = started(service);
  const after = started(service);
  const answers = { 'elicitation-1': { action: 'accept', content: { name: 'Ada' } } };
  for (const name of ['reads', 'again']) {
    const { requestState, inputRequests } = await before.result('tools/call', { name });
    expect(Object.keys(inputRequests)).toEqual(['elicitation-1']);
    const retry = { name, requestState, inputResponses: answers };
    expect(await after.result('tools/call', retry)).toMatchObject({ content: [{ text: 'hello Ada' }] });
    expect(runs.get(name)).toBe(2);
  }
  // Two pages, once by each process.
  expect(lists).toHaveLength(4);
  for (const name of ['plain', 'writes', 'unlisted']) {
    const { requestState } = await before.result('tools/call', { name });
    const refused = await after.error('tools/call', { name, requestState, inputResponses: answers });
    expect(refused).toMatchObject({ code: -32602, message: expect.stringContaining('call again without it') });
    expect(runs.get(name)).toBe(1);
  }
});

test('lists that passed through are not requested again', async () => {
  const { service, lists } = asking();
  const client = started(service);
  await client.result('tools/list');
  await client.result('tools/call', { name: 'plain' });
  expect(lists).toHaveLength(1);
});

test('a missing list delays a question by five seconds', async () => {
  vi.useFakeTimers();
  const { service } = asking();
  const stuck: Service = (exchange) => (exchange.method === 'tools/list' ? new Promise(() => {}) : service(exchange));
  const front = new RerunByAnnotations(stuck);
  const exchange = new TestExchange(
    'tools/call',
    { name: 'reads' },
    { caller: MODERN, onask: () => ({ content: {} }) },
  );
  const answer = front.service(exchange);
  await vi.advanceTimersByTimeAsync(4999);
  expect(exchange.asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(exchange.asked).toHaveLength(1);
  await answer;
  expect(front.safeToRerun(exchange)).toBe(false);
});

test('in a session no list is read, and requests that are not calls may rerun', async () => {
  const { service, lists } = asking();
  const front = new RerunByAnnotations(service);
  const exchange = new TestExchange('tools/call', { name: 'reads' }, { onask: () => ({ content: {} }) });
  await front.service(exchange);
  expect(lists).toEqual([]);
  expect(front.safeToRerun({ method: 'prompts/get', params: { name: 'reads' } })).toBe(true);
});

test('a changed list is read again before one of its tools counts as safe to rerun', async () => {
  const { service, lists } = asking();
  const front = new RerunByAnnotations((exchange) =>
    exchange.method === 'subscriptions/listen'
      ? exchange.notify('notifications/tools/list_changed', {}).then(() => ({}))
      : service(exchange),
  );
  const call = new TestExchange('tools/call', { name: 'reads' }, { caller: MODERN, onask: () => ({ content: {} }) });
  await front.service(call);
  expect(front.safeToRerun(call)).toBe(true);
  const listening = new TestExchange('subscriptions/listen', {}, { caller: MODERN });
  await front.service(listening);
  expect(listening.notified).toHaveLength(1);
  expect(front.safeToRerun(call)).toBe(false);
  await front.service(call);
  expect(front.safeToRerun(call)).toBe(true);
  expect(lists).toHaveLength(4);
});
