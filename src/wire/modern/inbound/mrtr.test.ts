import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ABLE, ModernClient, modernRequest, TestReply, type Answered } from '../../../../test/support/modern.ts';
import { deferred, scripted, unhandled } from '../../../../test/support/service.ts';
import { NotAsked, type Exchange, type Service } from '../../../core/exchange.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';

const CALL = { name: 'tool', arguments: { a: 1 } };
const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content });
const form = (message: string): JsonObject => ({ message, requestedSchema: { type: 'object', properties: {} } });

function tool(handler: (exchange: Exchange) => Promise<JsonObject>): Service {
  return scripted({ 'tools/call': handler }).service;
}

/** A handler that asks for a name, and then whether it is correct. */
const twoRounds = tool(async (exchange) => {
  const { content } = await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
  const sure = await exchange.ask('elicitation/create', form(`${content.name}?`));
  return { content: [], received: [content.name, sure['action']] };
});

function questions({ response }: Answered): JsonObject {
  expect(response.result.resultType).toBe('input_required');
  return response.result.inputRequests;
}

const retry = (answered: Answered, inputResponses?: JsonObject): JsonObject => ({
  ...CALL,
  requestState: answered.response.result.requestState,
  inputResponses,
});

/** Waits until the questions of this turn of the event loop are sent. */
const turns = (): Promise<void> => new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));

afterEach(() => void vi.useRealTimers());

describe('a handler that asks', () => {
  test('continues when its caller returns, for several rounds', async () => {
    const client = new ModernClient(twoRounds);
    const first = await client.request('tools/call', CALL);
    expect(questions(first)).toEqual({ name: { method: 'elicitation/create', params: form('name?') } });
    expect(client.inbound.suspended).toBe(1);
    const second = await client.request('tools/call', retry(first, { name: accept({ name: 'Ada' }) }));
    expect(questions(second)).toEqual({ 'elicitation-1': { method: 'elicitation/create', params: form('Ada?') } });
    const third = await client.request('tools/call', retry(second, { 'elicitation-1': { action: 'decline' } }));
    expect(third.response.result).toEqual({ resultType: 'complete', content: [], received: ['Ada', 'decline'] });
    expect(third.response.id).toBe(3);
    expect(client.inbound.suspended).toBe(0);
  });

  test('sends all questions of one turn of the event loop together', async () => {
    const client = new ModernClient(
      tool(async (exchange) => {
        const [a, b] = await Promise.all([
          exchange.ask('roots/list', {}),
          exchange.ask('sampling/createMessage', { messages: [], maxTokens: 1 }),
        ]);
        return { roots: a['roots'], model: b['model'] };
      }),
    );
    const first = await client.request('tools/call', CALL);
    expect(Object.keys(questions(first))).toEqual(['roots-1', 'sampling-2']);
    const sampled = { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' };
    const result = await client.result('tools/call', retry(first, { 'roots-1': { roots: [] }, 'sampling-2': sampled }));
    expect(result).toMatchObject({ roots: [], model: 'm' });
  });

  test('gets the given answers, and missing ones are requested again', async () => {
    const got: string[] = [];
    const client = new ModernClient(
      tool(async (exchange) => {
        const ask = async (key: string): Promise<void> => {
          await exchange.ask('elicitation/create', form(key), { key });
          got.push(key);
        };
        await Promise.all([ask('a'), ask('b')]);
        return { got };
      }),
    );
    const first = await client.request('tools/call', CALL);
    const second = await client.request('tools/call', retry(first, { b: accept({}), unknown: accept({}) }));
    expect(got).toEqual(['b']);
    expect(questions(second)).toEqual({ a: { method: 'elicitation/create', params: form('a') } });
    const third = await client.request('tools/call', retry(second));
    expect(Object.keys(questions(third))).toEqual(['a']);
    expect(await client.result('tools/call', retry(third, { a: accept({}) }))).toMatchObject({ got: ['b', 'a'] });
  });

  test.each([
    ['a response that is not an object', { name: 5 }],
    ['a response without an action', { name: { content: {} } }],
    ['a response with an unknown action', { name: { action: 'maybe' } }],
    ['content that is not an object', { name: { action: 'accept', content: [] } }],
  ])('continues to wait after %s', async (_, inputResponses) => {
    const client = new ModernClient(twoRounds);
    const first = await client.request('tools/call', CALL);
    const refused = await client.request('tools/call', retry(first, inputResponses));
    expect(refused).toMatchObject({ status: 400, response: { error: { code: -32602 } } });
    expect(refused.response.error.message).toContain('"name"');
    const second = await client.request('tools/call', retry(first, { name: accept({ name: 'Ada' }) }));
    expect(Object.keys(questions(second))).toEqual(['elicitation-1']);
  });

  test('can continue without an answer', async () => {
    const client = new ModernClient(
      tool(async (exchange) => {
        const asked = (key: string): Promise<string> => exchange.ask('roots/list', {}, { key }).then(() => key);
        return { first: await Promise.race([asked('a'), asked('b')]) };
      }),
    );
    const first = await client.request('tools/call', CALL);
    expect(await client.result('tools/call', retry(first, { b: { roots: [] } }))).toMatchObject({ first: 'b' });
  });

  test('can finish before its caller returns, who then gets the result at once', async () => {
    const done = deferred();
    const client = new ModernClient(
      tool(async (exchange) => {
        await Promise.race([exchange.ask('roots/list', {}), done.promise]);
        return { late: true };
      }),
    );
    const first = await client.request('tools/call', CALL);
    done.resolve();
    await done.promise;
    expect(await client.result('tools/call', retry(first))).toMatchObject({ resultType: 'complete', late: true });
    expect(client.inbound.suspended).toBe(0);
  });

  test('can cancel a question', async () => {
    const controller = new AbortController();
    const client = new ModernClient(
      tool(async (exchange) => {
        const asked = [
          exchange
            .ask('roots/list', {}, { key: 'a', signal: controller.signal })
            .catch((error: Error) => error.message),
          exchange.ask('roots/list', {}, { key: 'b' }),
        ];
        return { answers: await Promise.all(asked) };
      }),
    );
    const first = await client.request('tools/call', CALL);
    controller.abort(new Error('never mind'));
    const result = await client.result('tools/call', retry(first, { a: { roots: [1] }, b: { roots: [] } }));
    expect(result['answers']).toEqual(['never mind', { roots: [] }]);
  });

  test('leaves no listener on the signal of an answered question', async () => {
    const { signal } = new AbortController();
    const client = new ModernClient(tool((exchange) => exchange.ask('roots/list', {}, { key: 'a', signal })));
    const first = await client.request('tools/call', CALL);
    expect(await client.result('tools/call', retry(first, { a: { roots: [] } }))).toMatchObject({ roots: [] });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('can ask more before its caller returns, who then gets these questions', async () => {
    const away = deferred();
    const client = new ModernClient(
      tool(async (exchange) => {
        const first = exchange.ask('roots/list', {}, { key: 'a' });
        await away.promise;
        const second = exchange.ask('roots/list', {}, { key: 'b' });
        return { answers: await Promise.all([first, second]) };
      }),
    );
    const first = await client.request('tools/call', CALL);
    away.resolve();
    await turns();
    const second = await client.request('tools/call', retry(first, { a: { roots: [1] } }));
    expect(Object.keys(questions(second))).toEqual(['b']);
    const result = await client.result('tools/call', retry(second, { b: { roots: [2] } }));
    expect(result['answers']).toEqual([{ roots: [1] }, { roots: [2] }]);
  });

  test('that has finished no longer waits for an answer', async () => {
    const away = deferred();
    const failures: string[] = [];
    const client = new ModernClient(
      tool(async (exchange) => {
        exchange.ask('roots/list', {}).catch((error: Error) => void failures.push(error.message));
        await away.promise;
        return { done: true };
      }),
    );
    const first = await client.request('tools/call', CALL);
    away.resolve();
    await turns();
    expect(failures).toEqual([expect.stringContaining('has ended')]);
    // Whatever the answer is, nobody reads it.
    expect(await client.result('tools/call', retry(first, { 'roots-1': {} }))).toMatchObject({ done: true });
  });

  test.each(['constructor', '__proto__', 'toString'])('asks again if a response has no answer for %s', async (key) => {
    const client = new ModernClient(tool((exchange) => exchange.ask('roots/list', {}, { key })));
    const first = await client.request('tools/call', CALL);
    const second = await client.request('tools/call', retry(first, {}));
    expect(Object.keys(questions(second))).toEqual([key]);
  });

  test('that has finished does not take the answer to the same question of another call', async () => {
    let finish!: () => void;
    let outlived: Promise<unknown> | undefined;
    const client = new ModernClient(
      tool(async (exchange) => {
        outlived = exchange.ask('elicitation/create', form('for another call'), { key: 'b', outlivesRequest: true });
        await new Promise<void>((resolve) => (finish = resolve));
        return { content: [] };
      }),
    );
    const first = await client.request('tools/call', CALL);
    expect(Object.keys(questions(first))).toEqual(['b']);
    finish();
    await turns();
    expect(await client.result('tools/call', retry(first, {}))).toMatchObject({ content: [] });
    await expect(outlived).rejects.toBeInstanceOf(NotAsked);
  });

  test('cannot ask two questions with the same key', async () => {
    const client = new ModernClient(
      tool(async (exchange) => {
        void exchange.ask('roots/list', {}, { key: 'a' }).catch(() => {});
        return exchange.ask('roots/list', {}, { key: 'a' });
      }),
    );
    expect(await client.error('tools/call', CALL)).toMatchObject({
      code: -32603,
      message: expect.stringContaining('"a"'),
    });
  });

  test('cannot reuse the key of an answered question', async () => {
    const client = new ModernClient(
      tool(async (exchange) => {
        await exchange.ask('roots/list', {}, { key: 'a' });
        return exchange.ask('roots/list', {}, { key: 'a' });
      }),
    );
    const first = await client.request('tools/call', CALL);
    expect(await client.error('tools/call', retry(first, { a: { roots: [] } }))).toMatchObject({
      code: -32603,
      message: expect.stringContaining('another question named "a"'),
    });
  });

  test('can use a key that would be the default key of another question', async () => {
    const client = new ModernClient(
      tool(async (exchange) => {
        await exchange.ask('roots/list', {}, { key: 'roots-1' });
        return exchange.ask('roots/list', {});
      }),
    );
    const first = await client.request('tools/call', CALL);
    const second = await client.request('tools/call', retry(first, { 'roots-1': { roots: [] } }));
    expect(Object.keys(questions(second))).toEqual(['roots-2']);
  });

  test('gets an error if JSON cannot represent the question', async () => {
    const client = new ModernClient(tool((exchange) => exchange.ask('roots/list', { big: 1n })));
    expect(await client.error('tools/call', CALL)).toMatchObject({ message: expect.stringMatching(/BigInt/) });
    expect(client.inbound.suspended).toBe(0);
  });

  test.each([
    ['elicitation/create', form('x'), {}, { elicitation: {} }],
    ['elicitation/create', { mode: 'url' }, { elicitation: { form: {} } }, { elicitation: { url: {} } }],
    ['sampling/createMessage', { tools: [] }, { sampling: {} }, { sampling: { tools: {} } }],
    ['roots/list', {}, { sampling: {} }, { roots: {} }],
  ])('is refused %s %j if the caller declares only %j', async (method, params, capabilities, requiredCapabilities) => {
    const client = new ModernClient(tool((exchange) => exchange.ask(method, params)));
    const { response, status } = await client.request('tools/call', CALL, { capabilities });
    expect(response.error).toMatchObject({ code: -32021, data: { requiredCapabilities } });
    expect(status).toBe(400);
  });

  test.each(['tools/list', 'completion/complete', 'unheard/of'])('cannot ask during %s', async (method) => {
    const { service } = scripted({ [method]: (exchange) => exchange.ask('roots/list', {}) });
    const client = new ModernClient(service);
    expect(await client.error(method)).toMatchObject({
      code: -32603,
      message: expect.stringContaining('without questions'),
    });
  });

  test('can send only questions that clients of this revision support', async () => {
    const client = new ModernClient(tool((exchange) => exchange.ask('ping', {})));
    expect(await client.error('tools/call', CALL)).toMatchObject({ code: -32601 });
  });

  test('is cancelled if nobody returns to it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    const failures: string[] = [];
    const client = new ModernClient(
      tool(async (exchange) => {
        exchange.signal.addEventListener('abort', () => void failures.push('signal'));
        await exchange.ask('roots/list', {}).catch((error: Error) => void failures.push(error.message));
        return {};
      }),
      { askTimeout: 1000 },
    );
    const first = await client.request('tools/call', CALL);
    await vi.advanceTimersByTimeAsync(999);
    expect(failures).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(failures).toEqual(['signal', expect.stringContaining('1000 ms')]);
    expect(client.inbound.suspended).toBe(0);
    expect(await client.error('tools/call', retry(first))).toMatchObject({ code: -32602 });
  });

  test('that is not awaited causes no error when its caller leaves', async () => {
    const rejected = unhandled();
    const client = new ModernClient(
      tool((exchange) => {
        void exchange.ask('roots/list', {});
        return new Promise(() => {});
      }),
    );
    await client.request('tools/call', CALL);
    await client.inbound.close(0);
    expect(await rejected()).toEqual([]);
  });
});

describe('a requestState', () => {
  test('is valid only for the newest round', async () => {
    const client = new ModernClient(twoRounds);
    const first = await client.request('tools/call', CALL);
    const second = await client.request('tools/call', retry(first, { name: accept({ name: 'Ada' }) }));
    const old = await client.request('tools/call', retry(first, { name: accept({ name: 'Eve' }) }));
    expect(old).toMatchObject({ status: 400, response: { error: { code: -32602 } } });
    const last = await client.result('tools/call', retry(second, { 'elicitation-1': { action: 'accept' } }));
    expect(last).toMatchObject({ received: ['Ada', 'accept'] });
  });

  test('continues once if two retries arrive together', async () => {
    const hold = deferred();
    const client = new ModernClient(
      tool(async (exchange) => {
        await exchange.ask('roots/list', {});
        await hold.promise;
        return { done: true };
      }),
    );
    const first = await client.request('tools/call', CALL);
    const params = retry(first, { 'roots-1': { roots: [] } });
    const running = client.request('tools/call', params);
    expect(await client.error('tools/call', params)).toMatchObject({ code: -32602 });
    hold.resolve();
    expect((await running).response.result).toMatchObject({ done: true });
  });

  test.each([
    ['another principal', {}, { principal: 'eve' }],
    ['no principal', {}, { principal: undefined }],
    ['other arguments', { arguments: { a: 2 } }, { principal: 'ada' }],
    ['another tool', { name: 'other' }, { principal: 'ada' }],
  ])('is refused with %s', async (_, changes, extra) => {
    const client = new ModernClient(twoRounds);
    const first = await client.request('tools/call', CALL, { principal: 'ada' });
    const params = { ...retry(first, { name: accept({ name: 'Eve' }) }), ...changes };
    expect(await client.request('tools/call', params, extra)).toMatchObject({
      status: 400,
      response: { error: { code: -32602 } },
    });
    expect(client.inbound.suspended).toBe(1);
    const good = await client.request('tools/call', retry(first, { name: accept({ name: 'Ada' }) }), {
      principal: 'ada',
    });
    expect(Object.keys(questions(good))).toEqual(['elicitation-1']);
  });

  test('does not depend on the order of the parameters', async () => {
    const client = new ModernClient(twoRounds);
    const first = await client.request('tools/call', { name: 'tool', arguments: { a: 1, b: { c: 2, d: 3 } } });
    const { requestState } = first.response.result;
    const params = { arguments: { b: { d: 3, c: 2 }, a: 1 }, requestState, name: 'tool' };
    expect(Object.keys(questions(await client.request('tools/call', params)))).toEqual(['name']);
  });

  test('of a handler that must not rerun is useless in another process', async () => {
    const stateKey = 'a secret of both of them';
    const first = await new ModernClient(twoRounds, { stateKey }).request('tools/call', CALL);
    const error = await new ModernClient(twoRounds, { stateKey }).error('tools/call', retry(first, {}));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('call again without it') });
  });

  test('of another key is reported once', async () => {
    const first = await new ModernClient(twoRounds, { stateKey: 'a secret of one of them' }).request(
      'tools/call',
      CALL,
    );
    const other = new ModernClient(twoRounds, { stateKey: 'another secret of another' });
    for (let tries = 0; tries < 2; tries += 1) await other.error('tools/call', retry(first, {}));
    expect(other.errors.map(({ message }) => message)).toEqual([expect.stringContaining('the same stateKey')]);
  });

  test('of a handler that may rerun continues in another process, with the answers so far', async () => {
    const options = { stateKey: 'a secret of both of them', safeToRerun: () => true };
    const [one, two, three] = [0, 1, 2].map(() => new ModernClient(twoRounds, options));
    const first = await one!.request('tools/call', CALL);
    const second = await two!.request('tools/call', retry(first, { name: accept({ name: 'Ada' }) }));
    expect(questions(second)).toEqual({ 'elicitation-1': { method: 'elicitation/create', params: form('Ada?') } });
    const last = await three!.result('tools/call', retry(second, { 'elicitation-1': { action: 'accept' } }));
    expect(last).toMatchObject({ received: ['Ada', 'accept'] });
  });

  test('gives no answer to a question that has changed', async () => {
    const options = { stateKey: 'a secret of both of them', safeToRerun: () => true };
    const asking = (message: string): Service =>
      tool(async (exchange) => ({ answer: await exchange.ask('elicitation/create', form(message), { key: 'q' }) }));
    const first = await new ModernClient(asking('delete a?'), options).request('tools/call', CALL);
    const params = retry(first, { q: accept({}) });
    const second = await new ModernClient(asking('delete b?'), options).request('tools/call', params);
    expect(questions(second)).toEqual({ q: { method: 'elicitation/create', params: form('delete b?') } });
  });

  test('contains the handler’s notes', async () => {
    const options = { stateKey: 'a secret of both of them', safeToRerun: () => true };
    let made = 0;
    const asking = tool(async (exchange) => {
      if (!exchange.notes.has('n')) exchange.notes.set('n', ++made);
      await exchange.ask('roots/list', {});
      return { n: exchange.notes.get('n') };
    });
    const first = await new ModernClient(asking, options).request('tools/call', CALL);
    const params = retry(first, { 'roots-1': { roots: [] } });
    expect(await new ModernClient(asking, options).result('tools/call', params)).toMatchObject({ n: 1 });
    expect(made).toBe(1);
  });
});

describe('an input_required result of a service', () => {
  const asks = tool(({ params }) =>
    Promise.resolve(
      params['inputResponses']
        ? { state: params['requestState'], responses: params['inputResponses'] }
        : { resultType: 'input_required', inputRequests: { r: { method: 'roots/list' } }, requestState: 'step 1' },
    ),
  );

  test('has its state encrypted when it is sent and decrypted when it returns', async () => {
    const client = new ModernClient(asks);
    const first = await client.request('tools/call', CALL);
    expect(questions(first)).toEqual({ r: { method: 'roots/list' } });
    expect(first.response.result.requestState).not.toContain('step');
    const result = await client.result('tools/call', retry(first, { r: { roots: [] } }));
    expect(result).toMatchObject({ state: 'step 1', responses: { r: { roots: [] } } });
    expect(client.inbound.suspended).toBe(0);
  });

  test('contains the handler’s notes, even without its own state', async () => {
    const noting = tool(({ notes, params }) => {
      if (params['inputResponses']) return Promise.resolve({ noted: notes.get('n') });
      notes.set('n', 1);
      return Promise.resolve({ resultType: 'input_required', inputRequests: { r: { method: 'roots/list' } } });
    });
    const client = new ModernClient(noting);
    const first = await client.request('tools/call', CALL);
    expect(await client.result('tools/call', retry(first, { r: { roots: [] } }))).toMatchObject({ noted: 1 });
  });

  test('is not continued with a forged state', async () => {
    const client = new ModernClient(asks);
    const params = { ...CALL, requestState: 'step 1', inputResponses: {} };
    expect(await client.error('tools/call', params)).toMatchObject({ code: -32602 });
  });

  test('is passed on unchanged if the service protects its state itself', async () => {
    const client = new ModernClient(asks, { sealState: false });
    const first = await client.request('tools/call', CALL);
    expect(first.response.result.requestState).toBe('step 1');
    expect(await client.result('tools/call', retry(first, { r: { roots: [] } }))).toMatchObject({ state: 'step 1' });
    const sealedElsewhere = { ...CALL, requestState: 'ew1.abc', inputResponses: {} };
    expect(await client.result('tools/call', sealedElsewhere)).toMatchObject({ state: 'ew1.abc' });
  });

  test.each([
    ['neither questions nor a state', {}, -32603],
    ['a question without a method', { inputRequests: { r: {} } }, -32603],
    ['a question that is not an object', { inputRequests: { r: { method: 'tools/list' } } }, -32601],
  ])('fails with %s', async (_, given, code) => {
    const client = new ModernClient(tool(() => Promise.resolve({ resultType: 'input_required', ...given })));
    expect(await client.error('tools/call', CALL)).toMatchObject({ code });
  });

  test('contains only questions that the caller supports', async () => {
    const client = new ModernClient(asks);
    expect(await client.error('tools/call', CALL, { capabilities: {} })).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { roots: {} } },
    });
  });

  test('is not allowed for a request that must be answered', async () => {
    const { service } = scripted({ 'tools/list': () => ({ resultType: 'input_required', requestState: 'x' }) });
    expect(await new ModernClient(service).error('tools/list')).toMatchObject({ code: -32603 });
  });

  test.each([null, 5, [], 'x'])('is not retried with the responses %j', async (inputResponses) => {
    const client = new ModernClient(asks);
    expect(await client.error('tools/call', { ...CALL, inputResponses })).toMatchObject({ code: -32602 });
  });
});

describe('suspended requests are limited', () => {
  const waiting = tool((exchange) => exchange.ask('roots/list', {}));

  test('in number: the oldest is ended after it has waited for a minute', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const client = new ModernClient(waiting, { maxSuspended: 2 });
    const first = await client.request('tools/call', CALL);
    await client.request('tools/call', CALL);
    expect(await client.error('tools/call', CALL)).toMatchObject({ message: expect.stringContaining('Too many') });
    vi.advanceTimersByTime(60_000);
    expect((await client.request('tools/call', CALL)).response.result.resultType).toBe('input_required');
    expect(client.inbound.suspended).toBe(2);
    expect(await client.error('tools/call', retry(first))).toMatchObject({ code: -32602 });
  });

  test('for each principal, and others still have room', async () => {
    const client = new ModernClient(waiting, { maxSuspendedPerPrincipal: 1 });
    await client.request('tools/call', CALL, { principal: 'eve' });
    expect(await client.error('tools/call', CALL, { principal: 'eve' })).toMatchObject({ code: -32603 });
    expect((await client.request('tools/call', CALL, { principal: 'ada' })).response.result).toBeDefined();
    expect((await client.request('tools/call', CALL)).response.result).toBeDefined();
  });

  test('by address for callers without a principal: one address leaves room for others, and loses its oldest', async () => {
    const client = new ModernClient(waiting, { maxSuspended: 10 });
    const ask = (address: string) => client.request('tools/call', CALL, { address });
    const first = await ask('192.0.2.1');
    for (let n = 1; n < 10; n += 1) await ask('192.0.2.1');
    expect((await ask('192.0.2.1')).response.error).toMatchObject({ code: -32603 });
    for (let n = 0; n < 5; n += 1) expect((await ask('192.0.2.2')).response.result?.resultType).toBe('input_required');
    expect((await ask('192.0.2.2')).response.error).toMatchObject({ message: expect.stringContaining('Too many') });
    expect(client.inbound.suspended).toBe(10);
    expect(await client.error('tools/call', retry(first))).toMatchObject({ code: -32602 });
  });

  test('by network for IPv6: a client with many addresses leaves room for others', async () => {
    const client = new ModernClient(waiting, { maxSuspended: 10 });
    const ask = (address: string) => client.request('tools/call', CALL, { address });
    for (let n = 1; n <= 10; n += 1) await ask(`2001:db8:1:2:${n}::1`);
    expect((await ask('2001:db8:1:2:ffff::1')).response.error).toMatchObject({ code: -32603 });
    expect((await ask('2001:db8:1:3::1')).response.result?.resultType).toBe('input_required');
  });

  test('in bytes', async () => {
    const client = new ModernClient(waiting);
    await client.request('tools/call', CALL, { bytes: 60 * 1024 * 1024 });
    expect(await client.error('tools/call', CALL, { bytes: 5 * 1024 * 1024 })).toMatchObject({ code: -32603 });
  });

  test('in bytes, including their questions', async () => {
    const message = 'x'.repeat(16 * 1024 * 1024);
    const client = new ModernClient(tool((exchange) => exchange.ask('elicitation/create', form(message))));
    for (let n = 0; n < 3; n += 1) await client.request('tools/call', CALL);
    expect(await client.error('tools/call', CALL)).toMatchObject({ code: -32603 });
    expect(client.inbound.suspended).toBe(3);
  });

  test('in bytes: questions of earlier rounds do not count', async () => {
    const message = 'x'.repeat(5 * 1024 * 1024);
    const client = new ModernClient(
      tool(async (exchange) => {
        const { rounds } = exchange.params['arguments'];
        for (let round = 0; round < rounds; round += 1) await exchange.ask('elicitation/create', form(message));
        return { done: true };
      }),
    );
    const ada = { principal: 'ada' };
    await client.request('tools/call', { ...CALL, arguments: { rounds: 1 } }, ada);
    const params = { ...CALL, arguments: { rounds: 4 } };
    let answered = await client.request('tools/call', params, ada);
    for (let round = 1; round <= 4; round += 1) {
      const inputResponses = { [`elicitation-${round}`]: { action: 'decline' } };
      answered = await client.request('tools/call', { ...retry(answered, inputResponses), ...params }, ada);
    }
    expect(answered.response.result).toMatchObject({ done: true });
  });

  test('in bytes of the received answers, which are released afterwards', async () => {
    const client = new ModernClient(twoRounds);
    const first = await client.request('tools/call', CALL, { bytes: 1000 });
    const large = { bytes: 60 * 1024 * 1024 };
    const second = await client.request('tools/call', retry(first, { name: accept({ name: 'Ada' }) }), large);
    const more = { bytes: 5 * 1024 * 1024 };
    expect(await client.error('tools/call', CALL, more)).toMatchObject({ code: -32603 });
    await client.result('tools/call', retry(second, { 'elicitation-1': { action: 'decline' } }));
    expect(client.inbound.suspended).toBe(0);
    expect((await client.request('tools/call', CALL, large)).response.result.resultType).toBe('input_required');
  });

  test('in bytes: answers to unknown questions do not count', async () => {
    const client = new ModernClient(waiting);
    const eve = { principal: 'eve', bytes: 15 * 1024 * 1024 };
    let answered = await client.request('tools/call', CALL, { ...eve, bytes: 1000 });
    for (let n = 0; n < 5; n += 1) {
      answered = await client.request('tools/call', retry(answered, { unknown: accept({}) }), eve);
      questions(answered);
    }
    questions(await client.request('tools/call', CALL, { ...eve, bytes: 1000 }));
    questions(await client.request('tools/call', CALL, { principal: 'ada', bytes: 5 * 1024 * 1024 }));
    expect(client.inbound.suspended).toBe(3);
  });
});

test('a caller that disconnects cancels its request, also in a later round', async () => {
  const reasons: unknown[] = [];
  const client = new ModernClient(
    tool(async (exchange) => {
      exchange.signal.addEventListener('abort', () => void reasons.push(exchange.signal.reason));
      await exchange.ask('roots/list', {});
      return new Promise(() => {});
    }),
  );
  const first = await client.request('tools/call', CALL);
  const reply = client.send('tools/call', retry(first, { 'roots-1': { roots: [] } }));
  expect(reasons).toEqual([]);
  reply.onclose!();
  expect(reasons).toEqual([expect.objectContaining({ message: expect.stringContaining('Cancelled') })]);
  expect(client.inbound.suspended).toBe(0);
});

test('a caller that disconnects while it gets earlier messages cancels its request', async () => {
  const cancelled = deferred();
  const client = new ModernClient(
    tool(async (exchange) => {
      exchange.signal.addEventListener('abort', () => cancelled.resolve());
      const answer = exchange.ask('roots/list', {});
      await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
      await exchange.notify('notifications/message', { level: 'info', data: 'while away' });
      await answer;
      return new Promise(() => {});
    }),
  );
  const logged = { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } };
  const first = await client.request('tools/call', { ...CALL, ...logged });
  await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
  const reply = new TestReply();
  reply.notify = async () => reply.onclose?.();
  const again = retry(first, { 'roots-1': { roots: [] } });
  client.inbound.onrequest!(modernRequest(2, 'tools/call', { ...again, ...logged }, ABLE), {}, reply);
  await cancelled.promise;
});

test('each round has its own progress token, and log messages and progress wait for the next round', async () => {
  const client = new ModernClient(
    tool(async (exchange) => {
      await exchange.notify('notifications/progress', { progressToken: 'p1', progress: 1 });
      const answer = exchange.ask('roots/list', {});
      await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
      await exchange.notify('notifications/progress', { progressToken: 'p1', progress: 2 });
      await exchange.notify('notifications/message', { level: 'info', data: 'while away' });
      await answer;
      await exchange.notify('notifications/progress', { progressToken: 'p1', progress: 3 });
      return {};
    }),
  );
  const at = (progressToken: string): JsonObject => ({
    _meta: { progressToken, 'io.modelcontextprotocol/logLevel': 'debug' },
  });
  const first = await client.request('tools/call', { ...CALL, ...at('p1') });
  await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
  const second = await client.request('tools/call', { ...retry(first, { 'roots-1': { roots: [] } }), ...at('p2') });
  expect(first.notifications.map(({ params }) => params)).toEqual([{ progressToken: 'p1', progress: 1 }]);
  expect(second.notifications.map(({ params }) => params)).toEqual([
    { progressToken: 'p2', progress: 2 },
    { level: 'info', data: 'while away' },
    { progressToken: 'p2', progress: 3 },
  ]);
});
