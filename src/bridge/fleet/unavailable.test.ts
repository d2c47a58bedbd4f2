import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { call, down, fleetOf, hanging, tool, tools, toolServer } from '../../../test/support/fleet.ts';
import { deferred, listening } from '../../../test/support/service.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';

describe('a server that is down', () => {
  test('is named in lists as missing, with one warning', async () => {
    const broken = toolServer('broken', [], { 'tools/list': down });
    const { fleet, warnings } = fleetOf({ broken, b: toolServer('b', ['x']) });
    for (let count = 0; count < 2; count += 1) {
      const exchange = new TestExchange('tools/list');
      expect(await fleet.service(exchange)).toEqual({
        tools: [tool('b__x')],
        _meta: { 'dev.everwire/missing': ['broken'] },
      });
      expect(exchange.notified).toEqual([
        {
          method: 'notifications/message',
          params: {
            level: 'warning',
            logger: 'everwire',
            data: 'entries of broken are missing in lists, because there was no valid response',
          },
        },
      ]);
    }
    expect(warnings).toEqual(['the server "broken" does not answer tools/list: gone']);
    expect(await call(fleet, 'b__x')).toBe('b: x');
  });

  test('fails calls of its own tools with its own error', async () => {
    const { fleet } = fleetOf({ broken: { service: down }, b: toolServer('b', ['x']) });
    await expect(call(fleet, 'broken__y')).rejects.toMatchObject({ code: -32000, message: 'gone' });
  });

  test('and does not answer delays a list no longer than the time limit', async () => {
    const { service } = hanging(toolServer('a', ['x']).service);
    const { fleet, warnings } = fleetOf({ a: { service }, b: toolServer('b', ['y']) }, { timeout: 50 });
    expect(await tools(fleet)).toEqual(['b__y']);
    expect(warnings).toEqual(['the server "a" does not answer server/discover: no answer within 50 ms']);
  });

  test('does not delay calls of other servers, and delays later lists by 2 seconds at most', async () => {
    const { service } = hanging(toolServer('a', []).service);
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { fleet, warnings } = fleetOf({ a: { service }, b: toolServer('b', ['y']), c: toolServer('c', []) });
    const listed = tools(fleet);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await listed).toEqual(['b__y']);
    // The clock stands still, so nothing waits.
    expect(await call(fleet, 'b__y')).toBe('b: y');
    const again = tools(fleet);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await again).toEqual(['b__y']);
    expect(warnings).toEqual(['the server "a" does not answer server/discover: no answer within 10000 ms']);
  });

  test('includes a server whose list never comes although it answers other requests', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const asked: Exchange[] = [];
    const hang = toolServer('a', [], {
      'tools/list': (exchange) => {
        asked.push(exchange);
        return new Promise<never>(() => {});
      },
    });
    const { fleet, warnings } = fleetOf({ a: hang, b: toolServer('b', ['y']) });
    for (const wait of [10_000, 2000, 2000]) {
      const began = performance.now();
      const listed = tools(fleet).then((names) => ({ names, took: performance.now() - began }));
      await vi.advanceTimersByTimeAsync(wait);
      expect(await listed).toEqual({ names: ['b__y'], took: wait });
    }
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
    expect(warnings).toEqual(['the server "a" does not answer tools/list: no answer within 10000 ms']);
  });

  test('no longer has a request that it did not answer in time, or whose caller has cancelled', async () => {
    const asked: Exchange[] = [];
    const silent: Service = (exchange) => {
      asked.push(exchange);
      return new Promise(() => {});
    };
    const { fleet } = fleetOf({ a: { service: silent }, b: toolServer('b', ['y']) }, { timeout: 50 });
    expect(await tools(fleet)).toEqual(['b__y']);
    const exchange = new TestExchange('tools/list');
    const cancelled = fleet.service(exchange);
    exchange.abort();
    await expect(cancelled).rejects.toThrow('aborted');
    expect(asked.map(({ method, signal }) => [method, signal.aborted])).toEqual([
      ['server/discover', true],
      ['server/discover', true],
    ]);
  });

  test('does not include a server that refuses one list: only that list is missing', async () => {
    const refusing = toolServer('a', ['x'], {
      'server/discover': () => ({ capabilities: { tools: {}, prompts: {} } }),
      'prompts/list': () => {
        throw RpcError.fromObject({ code: -32603, message: 'not today' });
      },
    });
    const { fleet, warnings } = fleetOf({ a: refusing, b: toolServer('b', ['y']) });
    const exchange = new TestExchange('prompts/list');
    const { prompts, _meta } = await fleet.service(exchange);
    expect(exchange.notified.map(({ params }) => params?.['data'])).toEqual([
      'entries of a are missing in lists, because the request was refused',
    ]);
    expect({ prompts, _meta }).toEqual({ prompts: [], _meta: { 'dev.everwire/missing': ['a'] } });
    expect(warnings).toEqual(['the server "a" refuses prompts/list: not today']);
    expect(await tools(fleet)).toEqual(['a__x', 'b__y']);
  });

  test('cannot put control characters or long texts into warnings', async () => {
    let count = 0;
    const hostile = toolServer('a', [], {
      'tools/list': () => {
        throw RpcError.fromObject({ code: -32603, message: `${(count += 1)} \u001b[2J\u009b2J${'x'.repeat(16_384)}` });
      },
    });
    const { fleet, warnings } = fleetOf({ a: hostile, b: toolServer('b', ['y']) });
    for (let each = 0; each < 3; each += 1) await tools(fleet);
    expect(warnings).toEqual([
      expect.stringMatching(/^the server "a" refuses tools\/list: 1 \\u001b\[2J\\u009b2Jx+…$/),
    ]);
    expect(warnings[0]!.length).toBeLessThan(8300);
  });

  test('is in the lists again when it answers, and subscribers are notified', async () => {
    const { service, wake } = hanging(toolServer('a', ['x'], { 'subscriptions/listen': listening([]) }).service);
    const b = toolServer('b', ['y'], { 'subscriptions/listen': listening([]) });
    const { fleet } = fleetOf({ a: { service }, b }, { timeout: 30 });
    const [acknowledged, listChanged] = [deferred(), deferred()];
    const listener = new TestExchange(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { onnotify: (method) => (method === 'notifications/tools/list_changed' ? listChanged : acknowledged).resolve() },
    );
    const over = fleet.service(listener);
    expect(await tools(fleet)).toEqual(['b__y']);
    await acknowledged.promise;
    expect(listener.notified.map(({ method }) => method)).toEqual(['notifications/subscriptions/acknowledged']);
    wake();
    await listChanged.promise;
    expect(await tools(fleet)).toEqual(['a__x', 'b__y']);
    listener.abort();
    expect(await over).toEqual({});
  });
});
