import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Exchange } from '../../src/core/exchange.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { scripted } from '../support/service.ts';
import { served } from '../support/wire.ts';
import { asked, headersOf, lastMessage, modernHttp } from './modern-client.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const everything = { elicitation: {}, sampling: {}, roots: {} };
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const accept = { action: 'accept', content: { name: 'Ada' } };

/** Asks for a name, then for roots, and returns both. */
const both = async (exchange: Exchange): Promise<JsonObject> => {
  const who = await exchange.ask('elicitation/create', form, { key: 'who' });
  const where = await exchange.ask('roots/list', {}, { key: 'where' });
  return { who, where };
};

type Call = ReturnType<typeof modernHttp>['call'];

/** Makes a call and, for each map of answers, the same call again with these answers and the last state. */
async function rounds(call: Call, params: JsonObject, ...answers: JsonObject[]): Promise<any[]> {
  const responses = [await call(0, 'tools/call', params, everything)];
  for (const [index, inputResponses] of answers.entries()) {
    const { requestState } = responses.at(-1).result;
    responses.push(await call(index + 1, 'tools/call', { ...params, inputResponses, requestState }, everything));
  }
  return responses;
}

describe('a question', () => {
  test('is a result, not a request from the server, and the caller sends its request again with the answers', async () => {
    const { call, inbound } = modernHttp(scripted({ 'tools/call': both }).service);
    const responses = await rounds(call, { name: 'a' }, { who: accept }, { where: { roots: [] } });
    expect(responses).toEqual([
      {
        jsonrpc: '2.0',
        id: 0,
        result: {
          resultType: 'input_required',
          inputRequests: { who: { method: 'elicitation/create', params: form } },
          requestState: expect.any(String),
        },
      },
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          resultType: 'input_required',
          inputRequests: { where: { method: 'roots/list', params: {} } },
          requestState: expect.any(String),
        },
      },
      { jsonrpc: '2.0', id: 2, result: { resultType: 'complete', who: accept, where: { roots: [] } } },
    ]);
    expect(inbound.suspended).toBe(0);
  });

  test('over a shared connection is also not a request', async () => {
    const { client } = await served(scripted({ 'tools/call': both }).service);
    await client.send(asked(1, 'tools/call', { name: 'a' }, everything));
    await expect.poll(() => client.inbox.length).toBe(1);
    const { result, ...response } = client.next();
    expect(response).toEqual({ jsonrpc: '2.0', id: 1 });
    const retry = { name: 'a', requestState: result.requestState, inputResponses: { who: accept } };
    await client.send(asked(2, 'tools/call', retry, everything));
    await expect.poll(() => client.inbox.length).toBe(1);
    expect(client.next()).toMatchObject({ id: 2, result: { inputRequests: { where: { method: 'roots/list' } } } });
  });

  test('has its own key, and simultaneous ones are sent together', async () => {
    const { service } = scripted({
      'tools/call': async (exchange) => {
        const names = ['a', 'b', 'c'].map((message) => exchange.ask('elicitation/create', { ...form, message }));
        const twice = exchange.ask('roots/list', {}, { key: 'elicitation-1' }).catch((error: Error) => error.message);
        return { answers: await Promise.all(names), twice: await twice };
      },
    });
    const { call } = modernHttp(service);
    const [first] = await rounds(call, { name: 'a' });
    const keys = Object.keys(first.result.inputRequests);
    expect(new Set(keys).size).toBe(3);
    const answers = Object.fromEntries(keys.map((key) => [key, { action: 'accept', content: { name: key } }]));
    const [, { result }] = await rounds(call, { name: 'a' }, answers);
    expect(result.answers.map(({ content }: JsonObject) => content.name)).toEqual(keys);
    expect(result.twice).toContain('another question');
  });

  test.each([
    ['elicitation/create', form, {}, { elicitation: {} }],
    [
      'elicitation/create',
      { mode: 'url', message: 'Go', url: 'https://a.example' },
      { elicitation: { form: {} } },
      { elicitation: { url: {} } },
    ],
    ['elicitation/create', form, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['sampling/createMessage', { messages: [], maxTokens: 1 }, {}, { sampling: {} }],
    [
      'sampling/createMessage',
      { messages: [], maxTokens: 1, tools: [] },
      { sampling: {} },
      { sampling: { tools: {} } },
    ],
    ['roots/list', {}, {}, { roots: {} }],
  ])(
    '%s with %j is not sent to a client with %j, and −32021 lists the required capabilities: %j',
    async (method, params, capabilities, required) => {
      const { service } = scripted({ 'tools/call': (exchange) => exchange.ask(method, params) });
      const { post, inbound } = modernHttp(service);
      const response = await post(asked(1, 'tools/call', { name: 'a' }, capabilities));
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32021, message: expect.any(String), data: { requiredCapabilities: required } },
      });
      expect(inbound.suspended).toBe(0);
    },
  );

  test.each(['tools/list', 'server/discover', 'completion/complete', 'vendor/odd'])(
    'is not asked during %s',
    async (method) => {
      const { service } = scripted({ [method]: (exchange) => exchange.ask('roots/list', {}) });
      const { call } = modernHttp(service);
      expect(await call(1, method, {}, everything)).toMatchObject({ id: 1, error: { code: -32603 } });
    },
  );

  test('must have a method that the specification defines', async () => {
    const { service } = scripted({ 'tools/call': (exchange) => exchange.ask('vendor/question', {}) });
    const { call } = modernHttp(service);
    expect(await call(1, 'tools/call', { name: 'a' }, everything)).toMatchObject({ error: { code: -32601 } });
  });

  test.each([{ action: 'decline' }, { action: 'cancel' }])('may be answered with %j', async (answer) => {
    const { call } = modernHttp(scripted({ 'tools/call': both }).service);
    const responses = await rounds(call, { name: 'a' }, { who: answer }, { where: { roots: [] } });
    expect(responses.at(-1).result.who).toEqual(answer);
  });

  test('that gets no answer is cancelled, and its handler is notified', async () => {
    const { service, seen } = scripted({ 'tools/call': both });
    const { call, inbound } = modernHttp(service, { askTimeout: 60_000 });
    await rounds(call, { name: 'a' });
    expect(inbound.suspended).toBe(1);
    expect(seen[0]!.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(inbound.suspended).toBe(0);
    expect(seen[0]!.signal.aborted).toBe(true);
  });

  test('has a time limit', async () => {
    const { service, seen } = scripted({ 'tools/call': both });
    const { call, inbound } = modernHttp(service, { maxSuspended: 2 });
    for (let n = 0; n < 2; n += 1) await rounds(call, { name: 'a' });
    expect((await rounds(call, { name: 'a' }))[0]).toMatchObject({ error: { code: -32603 } });
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await rounds(call, { name: 'a' }))[0]).toMatchObject({ result: { resultType: 'input_required' } });
    expect(seen[0]!.signal.aborted).toBe(true);
    expect(inbound.suspended).toBe(2);
  });
});

test('progress has the token of the newest request, and is not sent if that has none', async () => {
  const { service } = scripted({
    'tools/call': async (exchange) => {
      for (const [progress, key] of ['a', 'b'].entries()) {
        // A handler, or a server behind a bridge, knows only the token of the first request.
        await exchange.notify('notifications/progress', { progressToken: 'first', progress });
        await exchange.ask('roots/list', {}, { key });
      }
      await exchange.notify('notifications/progress', { progressToken: 'first', progress: 9 });
      return {};
    },
  });
  const { client } = await served(service);
  let requestState: string | undefined;
  for (const [id, progressToken, said] of [
    [1, 'first', ['first']],
    [2, undefined, []],
    [3, 7, [7]],
  ] as const) {
    const inputResponses = { a: { roots: [] }, b: { roots: [] } };
    const answers = requestState === undefined ? {} : { requestState, inputResponses };
    const token = progressToken === undefined ? {} : { _meta: { progressToken } };
    await client.send(asked(id, 'tools/call', { name: 'a', ...answers, ...token }, everything));
    await expect.poll(() => client.inbox.at(-1)).toMatchObject({ id });
    const messages: any[] = client.take();
    expect(messages.slice(0, -1).map(({ params }) => params.progressToken)).toEqual(said);
    requestState = messages.at(-1).result.requestState;
  }
  expect(requestState).toBeUndefined();
});

describe('answers', () => {
  test('that are missing are requested again, and unrequested ones are ignored', async () => {
    const { call } = modernHttp(scripted({ 'tools/call': both }).service);
    const responses = await rounds(
      call,
      { name: 'a' },
      { odd: { any: 'thing' } },
      { who: accept, odd: { any: 'thing' } },
      {},
      { where: { roots: [] }, who: { action: 'cancel' } },
    );
    expect(responses.map(({ result }) => Object.keys(result.inputRequests ?? {}))).toEqual([
      ['who'],
      ['who'],
      ['where'],
      ['where'],
      [],
    ]);
    expect(responses.at(-1).result.who).toEqual(accept);
  });

  test.each([
    [[], 'must be an object'],
    ['x', 'must be an object'],
    [{ who: 'Ada' }, 'must be an object'],
    [{ who: {} }, 'needs an \\"action\\"'],
    [{ who: { action: 'perhaps' } }, 'needs an \\"action\\"'],
  ])('%j get −32602, and may be sent again', async (inputResponses, why) => {
    const { call } = modernHttp(scripted({ 'tools/call': both }).service);
    const [{ result }] = await rounds(call, { name: 'a' });
    const { requestState } = result;
    const again = (answers: unknown) =>
      call(1, 'tools/call', { name: 'a', requestState, inputResponses: answers }, everything);
    const { error } = await again(inputResponses);
    expect(error).toEqual({ code: -32602, message: expect.any(String) });
    expect(JSON.stringify(error.message)).toContain(why);
    expect(await again({ who: accept })).toMatchObject({ result: { inputRequests: { where: {} } } });
  });
});

describe('a requestState', () => {
  const service = scripted({ 'tools/call': both }).service;

  test.each([
    ['was changed', (state: string) => `${state.slice(0, -2)}${state.endsWith('AA') ? 'BB' : 'AA'}`],
    ['was shortened', (state: string) => state.slice(0, 20)],
    ['was invented', () => 'ew1.bm8'],
    ['is not a string', () => 7],
    ['was encoded in another way', (state: string) => `${state}=`],
  ])('that %s is refused', async (_, forge) => {
    const { call, inbound } = modernHttp(service);
    const [{ result }] = await rounds(call, { name: 'a' });
    const params = { name: 'a', inputResponses: { who: accept }, requestState: forge(result.requestState) };
    expect(await call(1, 'tools/call', params, everything)).toMatchObject({ id: 1, error: { code: -32602 } });
    expect(inbound.suspended).toBe(1);
  });

  test.each([
    ['with other arguments', 'tools/call', { name: 'a', arguments: { b: 2 } }],
    ['of another tool', 'tools/call', { name: 'b', arguments: { b: 1 } }],
    ['of another method', 'prompts/get', { name: 'a', arguments: { b: 1 } }],
  ])('is refused in a request %s', async (_, method, params) => {
    const { call } = modernHttp(service);
    const [{ result }] = await rounds(call, { name: 'a', arguments: { b: 1 } });
    const { requestState } = result;
    const retry = { ...params, inputResponses: { who: accept }, requestState };
    expect(await call(1, method, retry, everything)).toMatchObject({ error: { code: -32602 } });
  });

  test('is refused from another principal, and valid for its own', async () => {
    const { http } = modernHttp(service);
    const as = async (principal: string | undefined, body: JsonObject): Promise<any> => {
      const headers = { 'content-type': 'application/json', ...headersOf(body) };
      const request = new Request('http://localhost/mcp', { method: 'POST', headers, body: JSON.stringify(body) });
      return lastMessage(await http.fetch(request, principal === undefined ? {} : { principal }));
    };
    const { result } = await as('ada', asked(1, 'tools/call', { name: 'a' }, everything));
    const { requestState } = result;
    const retry = asked(2, 'tools/call', { name: 'a', inputResponses: { who: accept }, requestState }, everything);
    for (const other of ['bob', undefined]) expect(await as(other, retry)).toMatchObject({ error: { code: -32602 } });
    expect(await as('ada', retry)).toMatchObject({ result: { inputRequests: { where: {} } } });
  });

  test('is refused after it has expired, even if another process could continue', async () => {
    const stateKey = 'a secret of this cluster';
    const options = { stateKey, askTimeout: 60_000, safeToRerun: () => true };
    const [{ result }] = await rounds(modernHttp(service, options).call, { name: 'a' });
    const { requestState } = result;
    const retry = { name: 'a', inputResponses: { who: accept }, requestState };
    const other = modernHttp(service, options);
    expect(await other.call(1, 'tools/call', retry, everything)).toMatchObject({
      result: { inputRequests: { where: {} } },
    });
    await vi.advanceTimersByTimeAsync(60_001);
    expect(await modernHttp(service, options).call(1, 'tools/call', retry, everything)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('expired') },
    });
  });

  test('is refused by a process with another key', async () => {
    const [{ result }] = await rounds(modernHttp(service, { safeToRerun: () => true }).call, { name: 'a' });
    const { requestState } = result;
    const retry = { name: 'a', inputResponses: { who: accept }, requestState };
    const other = modernHttp(service, { safeToRerun: () => true });
    expect(await other.call(1, 'tools/call', retry, everything)).toMatchObject({ error: { code: -32602 } });
  });

  test('is valid once if its exchange is still suspended', async () => {
    const { call } = modernHttp(service);
    const [{ result }] = await rounds(call, { name: 'a' });
    const { requestState } = result;
    const retry = { name: 'a', inputResponses: { who: accept }, requestState };
    expect(await call(1, 'tools/call', retry, everything)).toMatchObject({ result: { resultType: 'input_required' } });
    expect(await call(2, 'tools/call', retry, everything)).toMatchObject({ error: { code: -32602 } });
  });

  test('of the service is encrypted, and returned to it unchanged', async () => {
    const { service: own, seen } = scripted({
      'tools/call': ({ params }) =>
        params['requestState'] === 'secret stage'
          ? { done: params['inputResponses'] }
          : {
              resultType: 'input_required',
              requestState: 'secret stage',
              inputRequests: { who: { method: 'elicitation/create', params: form } },
            },
    });
    const { call } = modernHttp(own);
    const [first, second] = await rounds(call, { name: 'a' }, { who: accept });
    expect(Buffer.from(first.result.requestState.slice(4), 'base64url').toString()).not.toContain('secret');
    expect(first.result.requestState).not.toContain('secret');
    expect(second.result).toEqual({ resultType: 'complete', done: { who: accept } });
    expect(await call(3, 'tools/call', { name: 'a', requestState: 'secret stage' }, everything)).toMatchObject({
      error: { code: -32602 },
    });
    expect(seen).toHaveLength(2);
  });

  test.each([
    ['without a question and a state', {}, everything, -32603],
    [
      'with a question that the client does not support',
      { inputRequests: { a: { method: 'roots/list' } } },
      {},
      -32021,
    ],
    ['with an invalid question', { inputRequests: { a: { method: 'tools/list' } } }, everything, -32601],
    ['with a question without a method', { inputRequests: { a: {} } }, everything, -32603],
  ])('is not sent if the service returns an input_required result %s', async (_, result, capabilities, code) => {
    const { service: own } = scripted({ 'tools/call': () => ({ resultType: 'input_required', ...result }) });
    const { call } = modernHttp(own);
    expect(await call(1, 'tools/call', { name: 'a' }, capabilities)).toMatchObject({ error: { code } });
  });

  test('is not sent if the service returns an input_required result for another method', async () => {
    const { service: own } = scripted({
      'tools/list': () => ({ resultType: 'input_required', inputRequests: {}, requestState: 's' }),
    });
    const { call } = modernHttp(own);
    expect(await call(1, 'tools/list', {}, everything)).toMatchObject({ error: { code: -32603 } });
  });
});
