import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { ask, call, fleetOf, toolServer } from '../../../test/support/fleet.ts';
import { deferred, listening, scripted, settled } from '../../../test/support/service.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Fleet } from './fleet.ts';

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

/** A server that answers all but its list of tools, until it is told to. */
function hangingList(): { service: ReturnType<typeof toolServer>['service']; wake: () => void; asked: Exchange[] } {
  const { promise, resolve } = deferred();
  const asked: Exchange[] = [];
  const { service } = toolServer('hang', [], {
    'tools/list': async (exchange) => {
      asked.push(exchange);
      await promise;
      return { tools: [{ name: 'late' }] };
    },
    'subscriptions/listen': listening([]),
  });
  return { service, wake: () => resolve(), asked };
}

/** Takes note of who asks a server for its templates. */
function counted(service: Service, asked: Exchange[]): Service {
  return (exchange) => {
    if (exchange.method === 'resources/templates/list') asked.push(exchange);
    return service(exchange);
  };
}

/** How many milliseconds something takes, and what comes of it, or is thrown. */
async function timed<T>(answer: Promise<T>): Promise<{ took: number; result: T | string }> {
  const began = performance.now();
  let over: { took: number; result: T | string } | undefined;
  const done = (result: T | string): void => void (over = { took: performance.now() - began, result });
  answer.then(done, (error: Error) => done(error.message));
  for (await settled(); !over && performance.now() - began < 60_000; await settled())
    await vi.advanceTimersToNextTimerAsync();
  return over ?? { took: Infinity, result: 'nothing' };
}

const names = async (fleet: Fleet): Promise<unknown> =>
  (await ask(fleet, 'tools/list'))['tools'].map(({ name }: { name: string }) => name);

describe('a server whose list hangs', () => {
  test('is waited for as one that is down from the second list on, and warned of once', async () => {
    const { fleet, warnings } = fleetOf({ hang: hangingList(), good: toolServer('good', ['plain']) });
    expect(await timed(names(fleet))).toEqual({ took: 10_000, result: ['plain'] });
    for (let count = 0; count < 3; count += 1)
      expect(await timed(names(fleet))).toEqual({ took: 2000, result: ['plain'] });
    expect(warnings).toEqual(['the server "hang" does not answer tools/list: no answer within 10000 ms']);
  });

  test('does not hold up the first call of another’s tool for longer than the short time, and no second one', async () => {
    const { fleet } = fleetOf({ hang: hangingList(), good: toolServer('good', ['plain']) });
    expect(await timed(call(fleet, 'plain'))).toEqual({ took: 2000, result: 'good: plain' });
    expect(await timed(call(fleet, 'plain'))).toEqual({ took: 0, result: 'good: plain' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await timed(call(fleet, 'plain'))).toEqual({ took: 0, result: 'good: plain' });
  });

  test('is not waited for where a name has another’s before it, or its own', async () => {
    const odd = 'no spaces';
    const hang = hangingList();
    const { fleet } = fleetOf({ hang, good: toolServer('good', ['plain', odd]) }, { names: 'clash' });
    expect(await timed(call(fleet, 'good__plain'))).toEqual({ took: 0, result: 'good: plain' });
    expect(await timed(call(fleet, 'hang__late'))).toEqual({ took: 0, result: 'hang: late' });
    const always = fleetOf({ good: toolServer('good', [odd]) }, { names: 'always' }).fleet;
    const [shortened] = (await names(always)) as string[];
    expect(await timed(call(fleet, shortened!))).toEqual({ took: 0, result: `good: ${odd}` });
    expect(hang.asked).toEqual([]);
  });

  test('keeps a name waiting that nobody else has, the first time as long as a list, then the short time', async () => {
    const { fleet } = fleetOf({ hang: hangingList(), good: toolServer('good', ['plain']) });
    const unknown = 'Unknown tool: nosuch (hang did not answer)';
    expect(await timed(call(fleet, 'nosuch'))).toEqual({ took: 10_000, result: unknown });
    for (let count = 0; count < 5; count += 1) {
      const { took, result } = await timed(call(fleet, 'nosuch'));
      expect(result).toBe(unknown);
      expect(took).toBeLessThanOrEqual(2000);
      await vi.advanceTimersByTimeAsync(7000);
    }
  });

  test('is found by a call that waits for it, where it answers in time', async () => {
    const hang = hangingList();
    const { fleet } = fleetOf({ hang, good: toolServer('good', ['plain']) });
    setTimeout(hang.wake, 5000);
    expect(await timed(call(fleet, 'late'))).toEqual({ took: 5000, result: 'hang: late' });
  });

  test('is asked again with nobody waiting, once at a time, and told of when it answers', async () => {
    const hang = hangingList();
    const good = toolServer('good', ['plain'], { 'subscriptions/listen': listening([]) });
    const { fleet } = fleetOf({ hang, good });
    const filter = { notifications: { toolsListChanged: true } };
    const listener = new TestExchange('subscriptions/listen', filter);
    const over = fleet.service(listener);
    await timed(names(fleet));
    await timed(names(fleet));
    await timed(names(fleet));
    // Three that somebody waited for, and one that goes on.
    expect(hang.asked.map(({ signal }) => signal.aborted)).toEqual([true, true, false, true]);
    hang.wake();
    await settled();
    expect(listener.notified.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
    ]);
    expect(await timed(names(fleet))).toEqual({ took: 0, result: ['late', 'plain'] });
    listener.abort();
    await over;
  });

  test('keeps its names meanwhile', async () => {
    let hangs = false;
    const hang = toolServer('hang', [], {
      'tools/list': () => (hangs ? new Promise<never>(() => {}) : { tools: [{ name: 'plain' }] }),
    });
    const { fleet } = fleetOf({ hang, good: toolServer('good', ['plain']) });
    expect(await names(fleet)).toEqual(['hang__plain', 'good__plain']);
    hangs = true;
    expect(await timed(names(fleet))).toEqual({ took: 10_000, result: ['good__plain'] });
    expect((await timed(call(fleet, 'plain'))).result).toContain('ask for hang__plain or good__plain');
  });

  test('of resources is waited for by one request that names some, then by none, and asked again meanwhile', async () => {
    const { promise, resolve } = deferred();
    const asked: Exchange[] = [];
    const withResources = (templates: () => Promise<JsonObject>): ReturnType<typeof scripted> =>
      scripted(
        {
          'resources/list': () => ({ resources: [] }),
          'resources/templates/list': templates,
          'resources/read': ({ params }) => ({ contents: [{ uri: params['uri'] }] }),
        },
        { resources: {} },
      );
    const hang = withResources(() => promise.then(() => ({ resourceTemplates: [{ uriTemplate: 'x:{id}' }] })));
    const good = withResources(() => Promise.resolve({ resourceTemplates: [{ uriTemplate: 'y:{id}' }] }));
    const { fleet } = fleetOf({ hang: { service: counted(hang.service, asked) }, good });
    const read = async (): Promise<number> => (await timed(ask(fleet, 'resources/read', { uri: 'y:1' }))).took;
    expect(await read()).toBe(10_000);
    expect(await read()).toBe(0);
    expect(asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect([await read(), await read()]).toEqual([0, 0]);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    resolve();
    await settled();
    expect((await timed(ask(fleet, 'resources/read', { uri: 'x:1' }))).took).toBe(0);
    expect(hang.seen.some(({ method }) => method === 'resources/read')).toBe(true);
  });

  test('holds up nobody who has given up', async () => {
    const hang = hangingList();
    const { fleet } = fleetOf({ hang, good: toolServer('good', ['plain']) });
    const exchange = new TestExchange('tools/call', { name: 'plain' });
    const answer = timed(fleet.service(exchange));
    exchange.abort();
    expect((await answer).took).toBe(0);
  });
});
