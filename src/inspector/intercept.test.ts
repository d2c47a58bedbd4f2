import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import { compose, type Service } from '../core/exchange.ts';
import type { HeldMessage, RuleAction } from '../inspect/breakpoints/breakpoint-api.ts';
import { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { intercept } from './intercept.ts';

const session = { id: '1', signal: new AbortController().signal };

/** A service behind breakpoints, and what it received. */
class World {
  readonly received: JsonObject[] = [];
  readonly kill = vi.fn<() => void>();
  readonly breakpoints = new Breakpoints({
    actions: ['hold', 'delay', 'duplicate', 'reorder', 'drop'],
    kill: this.kill,
  });
  readonly #service: Service;

  constructor(service: Service = async ({ params }) => ({ got: params })) {
    const seen: Service = (exchange) => {
      this.received.push({ method: exchange.method, ...exchange.params });
      return service(exchange);
    };
    this.#service = compose(seen, intercept(this.breakpoints));
    this.breakpoints.watched(true);
  }

  rule(filter: string, action: RuleAction | RuleAction['type'] = 'hold', nth?: number): void {
    const full = (typeof action === 'string' ? { type: action } : action) as RuleAction;
    this.breakpoints.setRule({ filter, action: full, enabled: true, nth });
  }

  exchange(method: string, params: JsonObject = {}, options: TestExchangeOptions = {}): TestExchange {
    const caller = { session, clientInfo: { name: 'c', version: '1' }, ...options.caller };
    return new TestExchange(method, params, { ...options, caller });
  }

  call(params: JsonObject = {}, method = 'tools/call'): Promise<JsonObject> {
    return this.run(this.exchange(method, params));
  }

  run(exchange: TestExchange): Promise<JsonObject> {
    return this.#service(exchange);
  }

  get held(): readonly HeldMessage[] {
    return this.breakpoints.state.held;
  }

  get names(): unknown[] {
    return this.received.map(({ name }) => name as unknown);
  }
}

/** All promises that can go on have gone on. */
const turn = (): Promise<void> => new Promise(setImmediate);

async function outcome(promise: Promise<unknown>): Promise<unknown> {
  await turn();
  return Promise.race([promise, Promise.resolve('open')]);
}

describe('a request with 90,000 keys keeps the loop for less than 250 ms', () => {
  const keys = (prefix: string): JsonObject =>
    Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`${prefix}${n}`, n]));

  test.each([
    ['several rules', ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `body:$.params.name=${name}`)],
    ['a rule that holds it', ['body:$.params.name=add']],
  ])('with %s', async (_, filters) => {
    const times: number[] = [];
    for (const prefix of ['a', 'b', 'c']) {
      const world = new World(async () => ({}));
      for (const filter of filters) world.rule(filter);
      const params = { name: 'add', arguments: JSON.parse(JSON.stringify(keys(prefix))) as JsonObject };
      const exchange = world.exchange('tools/call', params);
      const before = process.cpuUsage();
      void world.run(exchange);
      times.push(process.cpuUsage(before).user);
      world.breakpoints.forwardAllHeld();
    }
    expect(Math.min(...times)).toBeLessThan(120_000);
  });
});

test('a rule finds nothing where a message has no value', async () => {
  const world = new World(() => Promise.reject(new RpcError(-32000, 'no')));
  world.rule('body:$.error.data');
  await expect(world.call()).rejects.toThrow('no');
});

describe('a held request', () => {
  test('goes on unchanged, or as it was edited', async () => {
    const world = new World();
    world.rule('method:tools/call tool:add kind:request');
    const [first, second] = [world.call({ name: 'add', a: 1 }), world.call({ name: 'add', a: 2 })];
    expect(await outcome(first)).toBe('open');
    expect(world.held).toMatchObject([
      {
        id: 1,
        dir: 'c>s',
        kind: 'request',
        method: 'tools/call',
        tool: 'add',
        client: 'c 1',
        state: 'held',
        behind: 1,
      },
      { id: 2, behind: 0 },
    ]);
    expect(JSON.parse(world.breakpoints.heldMessage({ id: 1 }).text)).toEqual({
      method: 'tools/call',
      params: { name: 'add', a: 1 },
    });
    world.breakpoints.forwardHeld({ id: 1 });
    world.breakpoints.forwardHeld({ id: 2, text: '{"method":"tools/other","params":{"name":"sub"}}' });
    expect(await first).toEqual({ got: { name: 'add', a: 1 } });
    expect(await second).toEqual({ got: { name: 'sub' } });
    expect(world.received).toEqual([
      { method: 'tools/call', name: 'add', a: 1 },
      { method: 'tools/other', name: 'sub' },
    ]);
    expect(world.held).toEqual([]);
    expect(() => world.breakpoints.forwardHeld({ id: 1 })).toThrow('The message was already passed on.');
  });

  test.each([
    ['{', /must be JSON/],
    ['[]', /must be a JSON object/],
    ['{"params":{}}', /has "method"/],
    ['{"method":"x","params":[]}', /has "method"/],
    ['{"method":"x","id":1}', /has "method"/],
    ['{"method":"x","params":{"n":9007199254740993}}', /would be sent as 9007199254740992/],
  ])('is not sent as %s', async (text, why) => {
    const world = new World();
    world.rule('kind:request');
    void world.call();
    await turn();
    expect(() => world.breakpoints.forwardHeld({ id: 1, text })).toThrow(why);
    expect(world.held).toMatchObject([{ state: 'held' }]);
  });

  test('can be answered by hand, with a result or an error', async () => {
    const world = new World();
    world.rule('kind:request');
    const [first, second] = [world.call(), world.call()];
    second.catch(() => {});
    await turn();
    expect(() => world.breakpoints.answerHeld({ id: 1, text: '{"result":1}' })).toThrow(/either "result"/);
    world.breakpoints.answerHeld({ id: 2, text: '{"error":{"code":-1,"message":"no","data":[1]}}' });
    world.breakpoints.answerHeld({ id: 1, text: '{"result":{"by":"hand"}}' });
    expect(await first).toEqual({ by: 'hand' });
    await expect(second).rejects.toMatchObject({ code: -1, message: 'no', data: [1] });
    expect(world.received).toEqual([]);
  });

  test('that is dropped is never answered, until its caller gives up', async () => {
    const world = new World();
    world.rule('kind:request');
    const exchange = world.exchange('tools/call');
    const call = world.run(exchange);
    call.catch(() => {});
    await turn();
    world.breakpoints.dropHeld({ id: 1 });
    expect(await outcome(call)).toBe('open');
    exchange.abort();
    await expect(call).rejects.toThrow(/abort/);
    expect(world.received).toEqual([]);
  });

  test('is cancelled when its caller gives up, and cannot go on then', async () => {
    const world = new World();
    world.rule('kind:request');
    const exchange = world.exchange('tools/call');
    const call = world.run(exchange);
    call.catch(() => {});
    await turn();
    exchange.abort();
    await expect(call).rejects.toThrow(/abort/);
    expect(world.held).toMatchObject([{ state: 'cancelled', ended: { reason: expect.any(String) as string } }]);
    expect(() => world.breakpoints.forwardHeld({ id: 1 })).toThrow(/^The message was cancelled: /);
    expect(world.received).toEqual([]);
    // The next message of this program says how long it had waited.
    void world.call();
    expect(world.held[1]).toMatchObject({ state: 'held', patience: expect.any(Number) as number });
    world.breakpoints.dismissHeld({ id: 1 });
    expect(world.held).toMatchObject([{ id: 2 }]);
  });

  test('goes on after a time that the user chose', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const world = new World();
    world.rule('kind:request');
    const call = world.call();
    world.breakpoints.delayHeld({ id: 1, ms: 5000 });
    vi.advanceTimersByTime(4999);
    expect(await outcome(call)).toBe('open');
    expect(world.held).toMatchObject([{ state: 'held', until: expect.any(Number) as number }]);
    vi.advanceTimersByTime(1);
    expect(await call).toEqual({ got: {} });
  });
});

describe('the order', () => {
  test('of ten requests in flight is kept, whatever the order in which they are let go', async () => {
    const world = new World();
    world.rule('kind:request');
    const calls = Array.from({ length: 10 }, (_, name) => world.call({ name }));
    await turn();
    for (const id of [10, 3, 7, 1, 2, 9, 8]) world.breakpoints.forwardHeld({ id });
    await turn();
    expect(world.names).toEqual([0, 1, 2]);
    expect(world.held.map(({ state }) => state)).toEqual([
      'held',
      'held',
      'held',
      'leaving',
      'leaving',
      'leaving',
      'leaving',
    ]);
    world.breakpoints.forwardAllHeld();
    await Promise.all(calls);
    expect(world.names).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('is kept by messages that no rule matches, in the same session and direction only', async () => {
    const world = new World();
    world.rule('body:$.params.name=first');
    void world.call({ name: 'first' });
    void world.call({ name: 'second' });
    const other = world.exchange('tools/call', { name: 'other' }, { caller: { session: { ...session } } });
    await world.run(other);
    await turn();
    expect(world.names).toEqual(['other']);
    expect(world.held).toMatchObject([{ behind: 1 }]);
    world.breakpoints.dropHeld({ id: 1 });
    await turn();
    expect(world.names).toEqual(['other', 'second']);
  });

  test('of notifications and the result of a call is kept', async () => {
    const world = new World(async (exchange) => {
      for (const progress of [1, 2, 3]) void exchange.notify('notifications/progress', { progress });
      return { done: true };
    });
    world.rule('body:$.params.progress=2');
    const exchange = world.exchange('tools/call');
    const call = world.run(exchange);
    expect(await outcome(call)).toBe('open');
    expect(exchange.notified).toMatchObject([{ params: { progress: 1 } }]);
    world.breakpoints.forwardHeld({ id: 1, text: '{"method":"notifications/progress","params":{"progress":2.5}}' });
    expect(await call).toEqual({ done: true });
    expect(exchange.notified.map(({ params }) => params!['progress'] as number)).toEqual([1, 2.5, 3]);
  });

  test('is not kept by an answer by hand: its caller gets it before a result that is held', async () => {
    const world = new World();
    world.rule('body:$.result.got.name=first');
    world.rule('body:$.params.name=second');
    const first = world.call({ name: 'first' });
    await turn();
    const second = world.call({ name: 'second' });
    await turn();
    world.breakpoints.answerHeld({ id: 2, text: '{"result":{"by":"hand"}}' });
    expect(await second).toEqual({ by: 'hand' });
    expect(await outcome(first)).toBe('open');
    world.breakpoints.forwardHeld({ id: 1 });
    expect(await first).toEqual({ got: { name: 'first' } });
  });
});

describe('answers and questions', () => {
  test('a result can be changed, made an error, or dropped', async () => {
    const world = new World();
    world.rule('kind:result');
    const [first, second, third] = [world.call(), world.call(), world.call()];
    second.catch(() => {});
    await turn();
    expect(world.held).toMatchObject([{ dir: 's>c', kind: 'result', method: 'tools/call' }, {}, {}]);
    world.breakpoints.dropHeld({ id: 3 });
    world.breakpoints.forwardHeld({ id: 1, text: '{"result":{"x":1}}' });
    world.breakpoints.forwardHeld({ id: 2, text: '{"error":{"code":5,"message":"five"}}' });
    expect(await first).toEqual({ x: 1 });
    await expect(second).rejects.toMatchObject({ code: 5 });
    expect(await outcome(third)).toBe('open');
  });

  test('an error goes on as it was, or as a result', async () => {
    const world = new World(async () => {
      throw new RpcError(7, 'seven', { data: 1 });
    });
    world.rule('kind:error');
    const [first, second] = [world.call(), world.call()];
    first.catch(() => {});
    await turn();
    expect(JSON.parse(world.breakpoints.heldMessage({ id: 1 }).text)).toEqual({
      error: { code: 7, message: 'seven', data: 1 },
    });
    world.breakpoints.forwardHeld({ id: 1 });
    world.breakpoints.forwardHeld({ id: 2, text: '{"result":{}}' });
    await expect(first).rejects.toMatchObject({ code: 7, data: 1 });
    expect(await second).toEqual({});
  });

  test('a question and its answer are held in their directions', async () => {
    const world = new World(async (exchange) => ({ said: await exchange.ask('roots/list', {}) }));
    world.rule('method:roots/list');
    const exchange = world.exchange('tools/call', {}, { onask: () => ({ roots: [] }) });
    const call = world.run(exchange);
    await turn();
    expect(world.held).toMatchObject([{ dir: 's>c', kind: 'request', method: 'roots/list' }]);
    expect(exchange.asked).toEqual([]);
    world.breakpoints.forwardHeld({ id: 1 });
    await turn();
    expect(world.held).toMatchObject([{ dir: 'c>s', kind: 'result', method: 'roots/list' }]);
    world.breakpoints.forwardHeld({ id: 2, text: '{"result":{"roots":[{"uri":"file:///x"}]}}' });
    expect(await call).toEqual({ said: { roots: [{ uri: 'file:///x' }] } });
  });

  test('a question can be answered in place of the client', async () => {
    const world = new World(async (exchange) => ({ said: await exchange.ask('roots/list', {}) }));
    world.rule('method:roots/list');
    const exchange = world.exchange('tools/call');
    const call = world.run(exchange);
    await turn();
    world.breakpoints.answerHeld({ id: 1, text: '{"result":{"roots":[]}}' });
    expect(await call).toEqual({ said: { roots: [] } });
    expect(exchange.asked).toEqual([]);
  });
});

describe('rules that act by themselves', () => {
  test('only on one match, if the rule says so', async () => {
    const world = new World();
    world.rule('kind:request', 'drop', 2);
    const calls = [1, 2, 3].map((name) => world.call({ name }));
    expect(await calls[0]).toEqual({ got: { name: 1 } });
    expect(await calls[2]).toEqual({ got: { name: 3 } });
    expect(await outcome(calls[1]!)).toBe('open');
    expect(world.breakpoints.state.rules).toMatchObject([{ matches: 3, nth: 2 }]);
  });

  test('duplicate requests and notifications, but not results', async () => {
    const world = new World(async (exchange) => {
      await exchange.notify('notifications/progress', { progress: 1 });
      return {};
    });
    world.rule('', 'duplicate');
    const exchange = world.exchange('tools/call');
    expect(await world.run(exchange)).toEqual({});
    await turn();
    expect(world.received).toHaveLength(2);
    expect(exchange.notified).toHaveLength(4);
  });

  test('reorder: the next message overtakes', async () => {
    const world = new World();
    world.rule('kind:request', 'reorder', 1);
    const first = world.call({ name: 1 });
    expect(await outcome(first)).toBe('open');
    expect(world.held).toMatchObject([{ action: 'reorder' }]);
    await Promise.all([first, world.call({ name: 2 }), world.call({ name: 3 })]);
    expect(world.names).toEqual([2, 1, 3]);
  });

  test('delay: the messages of the same call wait, others do not', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const world = new World(async (exchange) => {
      void exchange.notify('notifications/progress', { progress: exchange.params['name'] });
      return { name: exchange.params['name'] };
    });
    world.rule('body:$.params.progress=1', { type: 'delay', ms: 1000 });
    const slow = world.exchange('tools/call', { name: 1 });
    const call = world.run(slow);
    expect(await outcome(call)).toBe('open');
    expect(await world.call({ name: 2 })).toEqual({ name: 2 });
    expect(slow.notified).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(await call).toEqual({ name: 1 });
    expect(slow.notified).toHaveLength(1);
  });

  test('kill, and then let the message go on', async () => {
    const world = new World();
    world.rule('tool:x kind:request', 'kill');
    await world.call({ name: 'y' });
    expect(world.kill).not.toHaveBeenCalled();
    await world.call({ name: 'x' });
    await turn();
    expect(world.kill).toHaveBeenCalledOnce();
  });

  test('a rule that is off does nothing, and the first that matches decides', async () => {
    const world = new World();
    world.breakpoints.setRule({ filter: '', action: { type: 'hold' }, enabled: false });
    world.rule('kind:request', { type: 'delay', ms: 1 });
    world.rule('kind:request', 'drop');
    expect(await world.call()).toEqual({ got: {} });
    expect(world.breakpoints.state.rules.map(({ matches }) => matches)).toEqual([0, 1, 1]);
    world.breakpoints.removeRule({ id: 2 });
    expect(await outcome(world.call())).toBe('open');
  });
});

describe('limits', () => {
  test('nothing is held while no page is open, and what is held goes on when the last one closes', async () => {
    const world = new World();
    world.rule('kind:request');
    const call = world.call();
    expect(await outcome(call)).toBe('open');
    world.breakpoints.watched(false);
    expect(await call).toEqual({ got: {} });
    expect(await world.call()).toEqual({ got: {} });
  });

  test('calls that began before a page was opened pass untouched, apart from subscriptions', async () => {
    const ends = new Map<string, () => void>();
    const world = new World(async (exchange) => {
      await new Promise<void>((resolve) => ends.set(exchange.method, resolve));
      await exchange.notify('notifications/message', {});
      return {};
    });
    world.breakpoints.watched(false);
    const [call, subscription] = [world.call(), world.call({}, 'subscriptions/listen')];
    world.breakpoints.watched(true);
    world.rule('');
    for (const end of ends.values()) end();
    expect(await call).toEqual({});
    expect(await outcome(subscription)).toBe('open');
    expect(world.held).toMatchObject([{ kind: 'notification', method: 'notifications/message' }]);
  });

  test('of 100 held messages: others go on, and are counted', async () => {
    const world = new World();
    world.rule('kind:request');
    const calls = Array.from({ length: 101 }, (_, name) => world.call({ name }));
    expect(await calls[100]).toEqual({ got: { name: 100 } });
    expect(world.held).toHaveLength(100);
    expect(world.breakpoints.state.missed).toBe(1);
    world.breakpoints.forwardAllHeld();
    await Promise.all(calls);
  });

  test('of what a peer can put into the state', async () => {
    const world = new World();
    world.rule('');
    const long = 'x'.repeat(1_000_000);
    const clientInfo = { name: { toString: 1 }, version: long } as never;
    const exchange = world.exchange('tools/call', { name: long }, { caller: { clientInfo } });
    void world.run(exchange);
    expect(world.held).toMatchObject([{ tool: 'x'.repeat(200), client: 'x'.repeat(100) }]);
    void world.call({}, long);
    expect(JSON.stringify(world.held).length).toBeLessThan(3000);
  });

  test('of 16 MiB', async () => {
    const world = new World();
    world.rule('kind:request');
    await world.call({ text: 'x'.repeat(17 * 1024 * 1024) });
    expect(world.breakpoints.state.missed).toBe(1);
  });

  test('a rule that can never act is refused', () => {
    const world = new World();
    for (const filter of ['layer:frame', 'conn:1', 'rule:x', 'side:client', 'method:', 'x) header:a'])
      expect(() => world.rule(filter), filter).toThrow(/cannot use|Write a value|no "\("/);
    expect(() => world.rule('id:1')).toThrow('A rule cannot use "id": it is known only on the wire.');
    expect(() => world.rule('', { type: 'status', status: 500 })).toThrow(/^Rules cannot status here/);
    expect(() => world.rule('', { type: 'delay', ms: 1e9 })).toThrow(/at most 3600000 ms/);
    for (let at = 0; at < 100; at += 1) world.rule('');
    expect(() => world.rule('')).toThrow('There can be at most 100 rules.');
  });
});
