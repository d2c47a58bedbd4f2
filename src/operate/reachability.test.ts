import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { deferred, scripted, settled } from '../../test/support/service.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { anyReachable, reachability } from './reachability.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const gone = (): never => {
  throw new RpcError(-32_000, 'The connection is closed');
};

describe('a server', () => {
  test('is reachable until a request finds no connection and a probe fails too', async () => {
    const probe = vi.fn<() => Promise<void>>(() => Promise.reject(new Error('gone')));
    const { middleware, check } = reachability({ probe });
    const { service } = scripted({ call: gone });
    expect(check()).toBeUndefined();
    await expect(middleware(service)(new TestExchange('call'))).rejects.toThrow('closed');
    await settled();
    expect(check()).toBe('unreachable');
    expect(probe).toHaveBeenCalledOnce();
  });

  test('that sends −32000 itself, and answers the probe, stays reachable', async () => {
    const { middleware, check } = reachability({ probe: () => Promise.resolve() });
    const { service } = scripted({ call: gone });
    await expect(middleware(service)(new TestExchange('call'))).rejects.toThrow('closed');
    await settled();
    expect(check()).toBeUndefined();
  });

  test('does not become reachable again by cached responses of a bridge', async () => {
    const { middleware, check } = reachability({ probe: () => Promise.reject(new Error('gone')) });
    const { service } = scripted({ call: gone });
    await expect(middleware(service)(new TestExchange('call'))).rejects.toThrow('closed');
    await settled();
    await middleware(service)(new TestExchange('server/discover'));
    expect(check()).toBe('unreachable');
  });

  test('is probed while somebody asks, one probe at a time, and at a limited rate', async () => {
    let answer = deferred();
    const probe = vi.fn<() => Promise<void>>(() => answer.promise);
    const { middleware, check } = reachability({ probe, interval: 5000 });
    const { service } = scripted({ call: gone });
    await expect(middleware(service)(new TestExchange('call'))).rejects.toThrow('closed');
    vi.advanceTimersByTime(60_000);
    await expect(middleware(service)(new TestExchange('call'))).rejects.toThrow('closed');
    expect(probe).toHaveBeenCalledOnce();
    answer.reject(new Error('gone'));
    await settled();

    answer = deferred();
    expect([check(), check()]).toEqual(['unreachable', 'unreachable']);
    expect(probe).toHaveBeenCalledTimes(2);
    answer.reject(new Error('gone'));
    await settled();
    check();
    expect(probe).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(5000);
    answer = deferred();
    expect(check()).toBe('unreachable');
    expect(probe).toHaveBeenCalledTimes(3);
    answer.resolve();
    await settled();
    expect(check()).toBeUndefined();
  });

  test('that answers a request is reachable again', async () => {
    const { middleware, check } = reachability({ probe: () => Promise.reject(new Error('gone')) });
    const { service } = scripted({ call: gone });
    await expect(middleware(service)(new TestExchange('call'))).rejects.toThrow('closed');
    await settled();
    expect(check()).toBe('unreachable');
    await middleware(service)(new TestExchange('echo'));
    expect(check()).toBeUndefined();
  });
});

test('several servers are reachable if one of them is', async () => {
  const { service } = scripted({ call: gone });
  const servers = [1, 2].map(() => reachability({ probe: () => Promise.reject(new Error('gone')) }));
  const check = anyReachable(() => servers);
  expect(check()).toBeUndefined();
  for (const { middleware } of servers) {
    expect(check()).toBeUndefined();
    await middleware(service)(new TestExchange('call')).catch(() => {});
    await settled();
  }
  expect(check()).toBe('unreachable');
  expect(anyReachable(() => [])()).toBeUndefined();
});
