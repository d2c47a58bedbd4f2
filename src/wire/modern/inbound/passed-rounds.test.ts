import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ModernClient, type Answered, type SendExtra } from '../../../../test/support/modern.ts';
import { aborted, deferred, scripted } from '../../../../test/support/service.ts';
import type { Exchange } from '../../../core/exchange.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import type { Bus } from '../../../store/bus.ts';
import { BusCalls } from '../../../store/bus-calls.ts';
import { memoryBus } from '../../../store/memory-bus.ts';
import type { InboundOptions } from '../../serve.ts';

/** What a caller sees if its answers reach another process than the one that asked. */

const CALL = { name: 'tool', arguments: { a: 1 } };
const form = (message: string): JsonObject => ({ message, requestedSchema: { type: 'object', properties: {} } });
const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content });

afterEach(() => void vi.useRealTimers());

/** Processes with one bus, whose tool says where it ran. */
function nodes(
  tool: (exchange: Exchange, node: string) => Promise<JsonObject>,
  { change = (bus) => bus, ...options }: InboundOptions & { change?: (bus: Bus, node: string) => Bus } = {},
) {
  const alive = new Set(['a', 'b', 'c']);
  const busOf = memoryBus((node) => alive.has(node));
  const isAlive = (node: string): Promise<boolean> => Promise.resolve(alive.has(node));
  const started = [...alive].map((node) => {
    const { service } = scripted({ 'tools/call': (exchange) => tool(exchange, node) });
    const state = { node, isAlive, bus: change(busOf(node), node) };
    return new ModernClient(service, { stateKey: 'the key of all processes', state, ...options });
  });
  return { alive, clients: started as [ModernClient, ModernClient, ModernClient] };
}

const retry = ({ response }: Answered, inputResponses: JsonObject): JsonObject => ({
  ...CALL,
  requestState: response.result.requestState,
  inputResponses,
});

/** Asks for two names, one after the other. */
const twoRounds = async (exchange: Exchange, node: string): Promise<JsonObject> => {
  const first = await exchange.ask('elicitation/create', form('first?'), { key: 'first' });
  const second = await exchange.ask('elicitation/create', form('second?'), { key: 'second' });
  return { content: [], node, names: [first['content'].name, second['content'].name] };
};

/** Asks, then waits until it is cancelled. */
function waiting() {
  const begun = deferred();
  const ended = deferred<string>();
  const tool = async (exchange: Exchange): Promise<JsonObject> => {
    await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
    begun.resolve();
    await aborted(exchange.signal);
    ended.resolve((exchange.signal.reason as Error).message);
    return { content: [] };
  };
  return { tool, begun: begun.promise, ended: ended.promise };
}

const ADA: SendExtra = { principal: 'Ada' };

describe('answers that reach another process', () => {
  test('continue the handler that asked, for several rounds at several processes', async () => {
    let runs = 0;
    const { clients } = nodes((exchange, node) => {
      runs += 1;
      return twoRounds(exchange, node);
    });
    const [a, b, c] = clients;
    const first = await a.request('tools/call', CALL);
    const second = await b.request('tools/call', retry(first, { first: accept({ name: 'Ada' }) }));
    expect(second.response.result).toMatchObject({ resultType: 'input_required', inputRequests: { second: {} } });
    const third = await c.request('tools/call', retry(second, { second: accept({ name: 'Bea' }) }));
    expect(third.response).toMatchObject({ id: 1, result: { node: 'a', names: ['Ada', 'Bea'] } });
    expect(runs).toBe(1);
    expect(a.inbound.suspended).toBe(0);
  });

  test('get the error of the handler, with its status', async () => {
    const { clients } = nodes(async (exchange) => {
      await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
      throw new Error('broken');
    });
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const { response, status } = await b.request('tools/call', retry(first, { name: accept({}) }));
    expect(response.error).toMatchObject({ code: -32603 });
    expect(status).toBe(200);
  });

  test('are refused if they are malformed, and the handler still waits', async () => {
    const { clients } = nodes(twoRounds);
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const refused = await b.request('tools/call', retry(first, { first: { action: 'maybe' } }));
    expect(refused).toMatchObject({ status: 400, response: { error: { code: -32602 } } });
    const second = await b.request('tools/call', retry(first, { first: accept({ name: 'Ada' }) }));
    expect(second.response.result.resultType).toBe('input_required');
  });

  test('are refused from another principal', async () => {
    const { clients } = nodes(twoRounds);
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL, ADA);
    const answers = retry(first, { first: accept({ name: 'Eve' }) });
    const refused = await b.request('tools/call', answers, { principal: 'Eve' });
    expect(refused.response.error.message).toContain('another caller');
    expect((await b.request('tools/call', answers, ADA)).response.result.resultType).toBe('input_required');
  });

  test('count once, however often they are sent', async () => {
    const { clients } = nodes(twoRounds);
    const [a, b, c] = clients;
    const first = await a.request('tools/call', CALL);
    const answers = retry(first, { first: accept({ name: 'Ada' }) });
    await b.request('tools/call', answers);
    const again = await c.request('tools/call', answers);
    expect(again.response.error.message).toContain('already been answered');
  });

  test('bring progress and log messages to the process of the caller, in order', async () => {
    const { clients } = nodes(async (exchange) => {
      await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
      for (let progress = 1; progress <= 50; progress += 1)
        void exchange.notify('notifications/progress', { progress });
      await exchange.notify('notifications/message', { level: 'error', data: 'last' });
      return { content: [] };
    });
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const mine = { progressToken: 'mine', 'io.modelcontextprotocol/logLevel': 'info' };
    const { notifications, response } = await b.request('tools/call', {
      ...retry(first, { name: accept({}) }),
      _meta: mine,
    });
    expect(response.result.content).toEqual([]);
    expect(notifications.map(({ params }) => params!['progress'] ?? params!['data'])).toEqual([
      ...Array.from({ length: 50 }, (_, index) => index + 1),
      'last',
    ]);
    expect(notifications[0]!.params!['progressToken']).toBe('mine');
  });

  test('a caller that leaves ends the handler in the other process', async () => {
    const { tool, begun, ended } = waiting();
    const { clients } = nodes(tool);
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const reply = b.send('tools/call', retry(first, { name: accept({}) }));
    await begun;
    reply.onclose!();
    expect(await ended).toBe('Cancelled: the caller no longer waits for the answer');
  });

  test('a result that is too large to be passed on is an error', async () => {
    const { clients } = nodes(async (exchange) => {
      await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
      return { content: [], filler: 'x'.repeat(17 * 1024 * 1024) };
    });
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const { response } = await b.request('tools/call', retry(first, { name: accept({}) }));
    expect(response.error).toMatchObject({ code: -32603, message: expect.stringContaining('too large') });
  });

  test('of one client wait in limited number', async () => {
    const { tool } = waiting();
    const { clients } = nodes(tool, { maxSuspended: 200, maxSuspendedPerPrincipal: 200 });
    const [a, b] = clients;
    const asked = await Promise.all(Array.from({ length: 65 }, () => a.request('tools/call', CALL, ADA)));
    const replies = asked.map((first) => b.send('tools/call', retry(first, { name: accept({}) }), ADA));
    const refused = await Promise.race(replies.map(({ answered }) => answered));
    expect(refused.response.error.message).toBe('Too many requests wait for other processes; try again later');
    const other = await a.request('tools/call', CALL, { principal: 'Bea' });
    const reply = b.send('tools/call', retry(other, { name: { action: 'maybe' } }), { principal: 'Bea' });
    expect((await reply.answered).status).toBe(400);
  });
});

describe('if the process that asked is gone', () => {
  test('a handler that is safe to rerun runs again', async () => {
    const { clients, alive } = nodes(twoRounds, { safeToRerun: () => true });
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const second = await b.request('tools/call', retry(first, { first: accept({ name: 'Ada' }) }));
    alive.delete('a');
    const third = await b.request('tools/call', retry(second, { second: accept({ name: 'Bea' }) }));
    expect(third.response.result).toMatchObject({ node: 'b', names: ['Ada', 'Bea'] });
  });

  test('another one is refused', async () => {
    const { clients, alive } = nodes(twoRounds);
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    alive.delete('a');
    const { response, status } = await b.request('tools/call', retry(first, { first: accept({ name: 'Ada' }) }));
    expect(response.error.message).toContain('no longer waits for answers');
    expect(status).toBe(400);
  });

  test('it may end while the handler goes on, and progress does not begin again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const begun = deferred();
    const { clients, alive } = nodes(
      async (exchange, node) => {
        await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
        await exchange.notify('notifications/progress', { progress: 1 });
        if (node === 'b') return { content: [], node };
        begun.resolve();
        return new Promise(() => {});
      },
      { safeToRerun: () => true },
    );
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const again = { ...retry(first, { name: accept({}) }), _meta: { progressToken: 1 } };
    const reply = b.send('tools/call', again);
    await begun.promise;
    alive.delete('a');
    await vi.advanceTimersByTimeAsync(1000);
    const { response, notifications } = await reply.answered;
    expect(response.result.node).toBe('b');
    expect(notifications).toHaveLength(1);
  });

  test('and the process of a caller that is gone ends the handler', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { tool, begun, ended } = waiting();
    const { clients, alive } = nodes(tool);
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    b.send('tools/call', retry(first, { name: accept({}) }));
    await begun;
    alive.delete('b');
    await vi.advanceTimersByTimeAsync(1000);
    expect(await ended).toBe('Cancelled: the caller no longer waits for the answer');
  });
});

describe('if the bus fails', () => {
  /** A bus whose first attempts to send some kind of message fail, after or before the message has arrived. */
  const failing = (kind: string, times: number, arrives: boolean) => {
    let left = times;
    return (bus: Bus, node: string): Bus => {
      const send: Bus['send'] = async (to, sent, body) => {
        if (sent !== kind || left <= 0) return bus.send(to, sent, body);
        left -= 1;
        if (arrives) await bus.send(to, sent, body);
        throw new Error('not confirmed');
      };
      const calls = new BusCalls(node, { send, on: bus.on }, () => Promise.resolve(true));
      return { ...bus, send, call: (...call) => calls.call(...call), answer: (...handler) => calls.answer(...handler) };
    };
  };

  test.each([
    ['call', 2, true],
    ['call', 2, false],
    ['round-notices', 3, true],
    ['round-notices', 3, false],
    ['call-answer', 2, true],
    ['call-answer', 2, false],
  ])('%s is sent again (%i times, arrived: %s), and nothing runs or arrives twice', async (kind, times, arrives) => {
    let runs = 0;
    const { clients } = nodes(
      async (exchange) => {
        await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
        runs += 1;
        await exchange.notify('notifications/progress', { progress: 1 });
        await exchange.notify('notifications/progress', { progress: 2 });
        return { content: [] };
      },
      { change: failing(kind, times, arrives) },
    );
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const again = { ...retry(first, { name: accept({}) }), _meta: { progressToken: 1 } };
    const { response, notifications } = await b.request('tools/call', again);
    expect(response.result.content).toEqual([]);
    expect(notifications.map(({ params }) => params!['progress'])).toEqual([1, 2]);
    expect(runs).toBe(1);
  });

  test('the caller is told to send the answers again, and may do so', async () => {
    const { clients } = nodes(twoRounds, { change: failing('call', 3, false) });
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const answers = retry(first, { first: accept({ name: 'Ada' }) });
    expect((await b.request('tools/call', answers)).response.error.message).toContain('send them again later');
    expect((await b.request('tools/call', answers)).response.result.resultType).toBe('input_required');
  });
});

describe('a process that closes', () => {
  test('finishes the rounds of others first', async () => {
    const go = deferred();
    const begun = deferred();
    const { clients } = nodes(async (exchange) => {
      await exchange.ask('elicitation/create', form('name?'), { key: 'name' });
      begun.resolve();
      await go.promise;
      return { content: [], done: true };
    });
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const reply = b.send('tools/call', retry(first, { name: accept({}) }));
    await begun.promise;
    const closed = Promise.all([a.inbound.close(60_000), b.inbound.close(60_000)]);
    go.resolve();
    expect((await reply.answered).response.result.done).toBe(true);
    await closed;
  });

  test.each([0, 1])('ends them after the timeout (process %i)', async (which) => {
    const { tool, begun } = waiting();
    const { clients } = nodes(tool);
    const [a, b] = clients;
    const first = await a.request('tools/call', CALL);
    const reply = b.send('tools/call', retry(first, { name: accept({}) }));
    await begun;
    await clients[which]!.inbound.close(0);
    expect((await reply.answered).response.error.message).toBe('The server is shutting down');
  });
});

test('without other processes, a state is not larger', async () => {
  const lengthWith = async (options: InboundOptions): Promise<number> => {
    const client = new ModernClient(scripted({ 'tools/call': (exchange) => twoRounds(exchange, '') }).service, options);
    onTestFinished(() => client.inbound.close(0));
    return (await client.request('tools/call', CALL)).response.result.requestState.length;
  };
  const state = { node: 'a', isAlive: () => Promise.resolve(true) };
  expect(await lengthWith({ state })).toBe(await lengthWith({}));
  expect(await lengthWith({ state: { ...state, bus: memoryBus()('a') } })).toBeGreaterThan(await lengthWith({}));
});
