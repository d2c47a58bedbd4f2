import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { Handlers } from './handlers.ts';
import { capabilitiesOf, Questions } from './questions.ts';

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const visit = { mode: 'url', message: 'Go', url: 'https://example.com/' };
const sampling = { messages: [], maxTokens: 1 };

function setUp(handlers: Handlers, revision: Revision = '2025-11-25') {
  const onerror = vi.fn<(error: Error) => void>();
  const questions = new Questions(handlers, onerror);
  const { signal } = new AbortController();
  const ask = async (method: string, params: JsonObject = {}, options = {}) =>
    questions.accept('tools/call', method, params, revision)(signal, options);
  return { ask, onerror, signal };
}

describe('the client declares capabilities for its handlers', () => {
  const handler = () => ({ action: 'decline' }) as const;
  const sample = () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: '' } }) as const;
  test.each<[Handlers, JsonObject]>([
    [{}, {}],
    [{ onelicit: {} }, {}],
    [{ onelicit: handler }, { elicitation: { form: {} } }],
    [{ onelicit: { url: handler } }, { elicitation: { url: {} } }],
    [{ onelicit: { form: handler, url: handler } }, { elicitation: { form: {}, url: {} } }],
    [{ onsample: sample }, { sampling: {} }],
    [{ onsample: sample, sampling: { tools: true, context: true } }, { sampling: { tools: {}, context: {} } }],
    [{ sampling: { tools: true } }, {}],
    [{ onroots: () => [] }, { roots: { listChanged: true } }],
  ])('%j', (handlers, capabilities) => {
    expect(capabilitiesOf(handlers)).toEqual(capabilities);
  });
});

test('a handler gets the call that asked, and the key of the question', async () => {
  const onelicit = vi.fn<() => { action: 'decline'; content: { name: string } }>(() => ({
    action: 'decline',
    content: { name: 'x' },
  }));
  const { ask } = setUp({ onelicit });
  expect(await ask('elicitation/create', form, { key: 'who' })).toEqual({ action: 'decline' });
  expect(onelicit).toHaveBeenCalledWith(form, { method: 'tools/call', key: 'who', signal: expect.any(AbortSignal) });
});

test('URL elicitation has its own handler, and its answer has no content', async () => {
  const url = vi.fn<() => { action: 'accept'; content: { secret: string } }>(() => ({
    action: 'accept',
    content: { secret: 'x' },
  }));
  const { ask } = setUp({ onelicit: { url } });
  expect(await ask('elicitation/create', visit)).toEqual({ action: 'accept' });
  for (const address of ['nowhere', `https://${'é'.repeat(65_536)}/`])
    await expect(ask('elicitation/create', { ...visit, url: address })).rejects.toMatchObject({ code: -32602 });
});

test.each<[Handlers, string, JsonObject, Revision, number]>([
  [{}, 'elicitation/create', form, '2025-11-25', -32601],
  [{}, 'elicitation/create', form, '2026-07-28', -32021],
  [{ onelicit: () => ({ action: 'cancel' }) }, 'elicitation/create', visit, '2025-11-25', -32602],
  [{ onelicit: { url: () => ({ action: 'cancel' }) } }, 'elicitation/create', form, '2025-11-25', -32602],
  [{ onelicit: () => ({ action: 'cancel' }) }, 'elicitation/create', { message: 'no form' }, '2025-11-25', -32602],
  [{}, 'sampling/createMessage', sampling, '2025-06-18', -32601],
  [{}, 'roots/list', {}, '2024-11-05', -32601],
  [{}, 'custom/question', {}, '2025-11-25', -32601],
])(
  'with the handlers %j, the question %s %j is refused in %s with the error %i',
  async (handlers, method, params, revision, code) => {
    await expect(setUp(handlers, revision).ask(method, params)).rejects.toMatchObject({ name: 'RpcError', code });
  },
);

test('tools in sampling are refused if the handler does not support them', async () => {
  const onsample = () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: '' } }) as const;
  const params = { ...sampling, tools: [] };
  await expect(setUp({ onsample }).ask('sampling/createMessage', params)).rejects.toMatchObject({ code: -32602 });
  const capable = setUp({ onsample, sampling: { tools: true } });
  expect(await capable.ask('sampling/createMessage', params)).toMatchObject({ model: 'm' });
});

test('roots may have a name with a dot', async () => {
  const roots = ['file:///home/ada', 'file:///...', 'file:///a..b/..c/d../%2e', 'file://server/share'].map((uri) => ({
    uri,
  }));
  expect(await setUp({ onroots: () => roots }).ask('roots/list')).toEqual({ roots });
});

const userMessage = { role: 'user', content: { type: 'text', text: 'hi' } };
const used = { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'add', input: {} }] };
const result = { type: 'tool_result', toolUseId: '1', content: [] };
test.each<[string, JsonObject, string]>([
  ['no messages', { maxTokens: 1 }, 'messages must be a list'],
  ['an invalid message', { messages: [userMessage, null], maxTokens: 1 }, 'messages[1] must be an object'],
  ['a missing maxTokens', { messages: [userMessage] }, 'maxTokens must be a number'],
  ['a missing tool result', { messages: [used], maxTokens: 1 }, 'results are missing for the tool uses 1'],
  [
    'a tool result beside other content',
    { messages: [used, { role: 'user', content: [result, userMessage.content] }], maxTokens: 1 },
    'messages[1] must have only the results of 1',
  ],
])('sampling with %s is refused, and the handler is not called', async (_, params, why) => {
  const onsample = vi.fn<() => never>();
  const { ask } = setUp({ onsample });
  const message = `sampling/createMessage is refused: ${why}`;
  await expect(ask('sampling/createMessage', params)).rejects.toMatchObject({ code: -32602, message });
  expect(onsample).not.toHaveBeenCalled();
});

test.each<[string, Handlers]>([
  ['elicitation/create', { onelicit: () => ({ action: 'maybe' }) as never }],
  ['elicitation/create', { onelicit: () => undefined as never }],
  ['elicitation/create', { onelicit: () => ({ action: 'accept', content: { name: 1 } }) }],
  ['sampling/createMessage', { onsample: () => ({ role: 'assistant' }) as never }],
  ['roots/list', { onroots: () => [{ uri: 'https://example.com/' }] }],
  ['roots/list', { onroots: () => ({ roots: [] }) as never }],
  ['roots/list', { onroots: () => [{ uri: 'file:///ok' }, undefined as never] }],
  ['roots/list', { onroots: () => [{ uri: 'file:///home/ada/../../etc' }] }],
  ['roots/list', { onroots: () => [{ uri: 'file:///home/%2E%2e/etc' }] }],
  ['roots/list', { onroots: () => [{ uri: 'file:///home%2f..%2Fetc' }] }],
  ['roots/list', { onroots: () => [{ uri: 'file:///c:\\ada\\..' }] }],
  ['roots/list', { onroots: () => [{ uri: 'file://a b/' }] }],
])('an invalid answer from the handler of %s is an internal error, and is reported', async (method, handlers) => {
  const { ask, onerror } = setUp(handlers);
  await expect(ask(method, method.startsWith('eli') ? form : sampling)).rejects.toMatchObject({ code: -32603 });
  expect(onerror).toHaveBeenCalledTimes(1);
});

test('the server gets the error that a handler throws only if it is an RpcError', async () => {
  const failing = setUp({
    onroots: () => {
      throw new Error('token abc123');
    },
  });
  const error: unknown = await failing.ask('roots/list').catch((thrown: unknown) => thrown);
  expect(JSON.stringify((error as RpcError).toObject())).not.toContain('abc123');
  expect(failing.onerror.mock.calls[0]?.[0].cause).toMatchObject({ message: 'token abc123' });
  const refusing = setUp({
    onsample: () => {
      throw new RpcError(-1, 'User rejected sampling request');
    },
  });
  await expect(refusing.ask('sampling/createMessage', sampling)).rejects.toMatchObject({ code: -1 });
  expect(refusing.onerror).not.toHaveBeenCalled();
});

test('the response to a cancelled question does not wait for its handler, and the handler is notified', async () => {
  let heard!: (signal: AbortSignal) => void;
  const asked = new Promise<AbortSignal>((resolve) => {
    heard = resolve;
  });
  const { ask, onerror } = setUp({
    onelicit: (_, { signal }) => {
      heard(signal);
      return new Promise(() => {});
    },
  });
  const controller = new AbortController();
  const answer = ask('elicitation/create', form, { signal: controller.signal });
  const signal = await asked;
  controller.abort(new Error('taken back'));
  await expect(answer).rejects.toThrow('taken back');
  expect(signal.aborted).toBe(true);
  expect(onerror).not.toHaveBeenCalled();
});

test('answered questions leave nothing in memory', async () => {
  const collect = garbageCollector();
  const { ask, signal } = setUp({ onroots: () => [] });
  const heapAfter = async (count: number): Promise<number> => {
    for (let n = 0; n < count; n += 1) await ask('roots/list', {}, { signal: new AbortController().signal });
    // Weak references are cleared in another turn.
    for (let turn = 0; turn < 3; turn += 1) {
      collect();
      await new Promise(setImmediate);
    }
    return process.memoryUsage().heapUsed;
  };
  const before = await heapAfter(1000);
  // Node 20 keeps 50 bytes for each `AbortSignal.any`.
  expect((await heapAfter(20_000)) - before).toBeLessThan(400_000);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
