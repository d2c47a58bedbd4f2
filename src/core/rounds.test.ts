import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { AskOptions, Exchange, Service } from './exchange.ts';
import { completeRounds, type RoundsOptions } from './rounds.ts';

const form = (message: string) => ({ method: 'elicitation/create', params: { message } });
const asks = (inputRequests: JsonObject, requestState?: string): JsonObject => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState === undefined ? {} : { requestState }),
});

/** A service whose questions go to the caller of the exchange. */
function withRounds(service: Service, options?: RoundsOptions): Service {
  return async (exchange) => completeRounds(service, exchange, await service(exchange), options);
}

/** A service that returns each of `results` in turn, and records its exchanges. */
function replies(...results: JsonObject[]): { service: Service; calls: Exchange[] } {
  const calls: Exchange[] = [];
  const service = withRounds((exchange) => {
    calls.push(exchange);
    return Promise.resolve(results[calls.length - 1]!);
  });
  return { service, calls };
}

test('a complete result is passed on unchanged', async () => {
  const result = { content: [] };
  const exchange = new TestExchange('tools/call');
  expect(await replies(result).service(exchange)).toBe(result);
  expect(exchange.asked).toEqual([]);
});

test('questions are asked and the request is repeated with the answers and the state', async () => {
  const { service, calls } = replies(asks({ a: form('A'), b: form('B') }, 's1'), asks({ c: form('C') }), {
    done: true,
  });
  const exchange = new TestExchange('tools/call', { name: 't' }, { onask: (_, { message }) => ({ text: message }) });
  expect(await service(exchange)).toEqual({ done: true });
  expect(exchange.asked.map(({ params }) => params['message'])).toEqual(['A', 'B', 'C']);
  expect(calls.map(({ params }) => params)).toEqual([
    { name: 't' },
    { name: 't', inputResponses: { a: { text: 'A' }, b: { text: 'B' } }, requestState: 's1' },
    // The last result had no state, so none is sent.
    { name: 't', inputResponses: { c: { text: 'C' } } },
  ]);
});

test('a state without questions is sent back unchanged', async () => {
  const { service, calls } = replies(asks({}, 'later'), { done: true });
  expect(await service(new TestExchange('tools/call', {}))).toEqual({ done: true });
  expect(calls[1]!.params).toEqual({ inputResponses: {}, requestState: 'later' });
});

test.each<[string, JsonObject]>([
  ['without "inputRequests" or "requestState"', {}],
  ['without "inputRequests" or "requestState"', { inputRequests: {} }],
  ['with "inputRequests" that is not an object', { inputRequests: 5 }],
  ['with "inputRequests" that is not an object', { inputRequests: [form('A')], requestState: 's' }],
  ['with a "requestState" that is not a string', { requestState: 5 }],
  ['with a "requestState" that is not a string', { inputRequests: { a: form('A') }, requestState: null }],
])('a result that asks for input %s fails at once: %j', async (what, fields) => {
  const { service, calls } = replies({ resultType: 'input_required', ...fields });
  const exchange = new TestExchange('tools/call');
  await expect(service(exchange)).rejects.toMatchObject({
    code: -32603,
    message: `tools/call asked for input ${what}`,
  });
  expect(calls).toHaveLength(1);
  expect(exchange.asked).toEqual([]);
});

test('the exchange of a later round notifies and asks like the first', async () => {
  const exchange = new TestExchange('tools/call', {}, { onask: () => ({ ok: true }) });
  let round = 0;
  const service = withRounds(async (current) => {
    round += 1;
    if (round === 1) return asks({ a: form('A') });
    await current.notify('notifications/message', { data: 1 });
    expect(current.signal).toBe(exchange.signal);
    expect(current.caller).toBe(exchange.caller);
    return current.ask('roots/list', {});
  });
  expect(await service(exchange)).toEqual({ ok: true });
  expect(exchange.notified).toEqual([{ method: 'notifications/message', params: { data: 1 } }]);
});

test('a service that never stops asking fails', async () => {
  const service = withRounds(() => Promise.resolve(asks({ a: form('A') })), { maxRounds: 3 });
  const exchange = new TestExchange('tools/call', {}, { onask: () => ({}) });
  await expect(service(exchange)).rejects.toMatchObject({ code: -32603, message: expect.stringContaining('3 times') });
  expect(exchange.asked).toHaveLength(3);
});

test('if one question fails, the request fails and the other questions are cancelled', async () => {
  const { service } = replies(asks({ a: form('A'), b: form('B') }));
  const signals: (AbortSignal | undefined)[] = [];
  const exchange = new TestExchange('tools/call');
  exchange.ask = (_method: string, { message }: JsonObject, { signal }: AskOptions = {}) => {
    signals.push(signal);
    return message === 'B' ? Promise.reject(new Error('declined')) : new Promise<JsonObject>(() => {});
  };
  await expect(service(exchange)).rejects.toThrow('declined');
  expect(signals[0]!.aborted).toBe(true);
});

test.each([null, 5, {}, { method: 5 }])('%j is not a valid input request', async (question) => {
  const { service } = replies(asks({ a: question }));
  const exchange = new TestExchange('tools/call');
  await expect(service(exchange)).rejects.toMatchObject({ code: -32603, message: expect.stringContaining('"a"') });
  expect(exchange.asked).toEqual([]);
});

test('a result with too many questions fails before any is asked', async () => {
  const many = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`q${n}`, form(String(n))]));
  const exchange = new TestExchange('tools/call', {}, { onask: () => ({}) });
  await expect(replies(asks(many(1001))).service(exchange)).rejects.toMatchObject({
    code: -32603,
    message: expect.stringContaining('1001'),
  });
  expect(exchange.asked).toEqual([]);
  expect(await replies(asks(many(1000)), { done: true }).service(exchange)).toEqual({ done: true });
});
