import { expect, test, vi } from 'vitest';
import { RpcError } from '../jsonrpc/errors.ts';
import { HttpStatusError } from '../transport/http/client/errors.ts';
import type { Upstream } from '../wire/upstream.ts';
import { EraCheck } from './era-check.ts';

const upstream = {} as Upstream;
const status = (code: number): Error => new Error('failed', { cause: new HttpStatusError(code, 'no') });

/** A check of a server that answers the probe by this, and how often it was asked and dropped. */
function check(answer: () => Promise<unknown>) {
  const probe = vi.fn<() => Promise<unknown>>(answer);
  const drop = vi.fn<() => void>();
  return { probe, drop, check: new EraCheck({ probe, drop }) };
}

const foreign = () => check(() => Promise.reject(status(400)));
const sound = () => check(() => Promise.resolve({}));

test.each<['legacy' | 'modern', Error]>([
  ['legacy', status(400)],
  ['legacy', status(405)],
  ['modern', status(404)],
  ['modern', RpcError.fromObject({ code: -32600, message: 'Mcp-Session-Id is missing' })],
])('a server of the %s era that answers so, and the probe so too, is another: %s', async (era, error) => {
  const one = foreign();
  expect(await one.check.explains(error, upstream, era, false)).toBe(true);
  expect(one.drop).toHaveBeenCalledExactlyOnceWith(upstream);
  // Those that were turned away with it need not ask.
  expect(await one.check.explains(error, upstream, era, false)).toBe(true);
  expect(one.probe).toHaveBeenCalledOnce();
});

test.each<['legacy' | 'modern', unknown]>([
  ['legacy', RpcError.fromObject({ code: -32600, message: 'no' })],
  ['modern', RpcError.fromObject({ code: -32602, message: 'no such tool' })],
  ['modern', new RpcError(-32000, 'Connection closed')],
  ['legacy', status(401)],
  ['modern', status(429)],
  ['modern', status(500)],
  ['modern', new Error('reset')],
  ['legacy', 'thrown'],
])('what a server of the %s era may well say is no reason to ask: %s', async (era, error) => {
  const one = foreign();
  expect(await one.check.explains(error, upstream, era, false)).toBe(false);
  expect(one.probe).not.toHaveBeenCalled();
});

test('a server that answers the probe is what it was, and is asked at most every five seconds', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const one = sound();
  expect(await Promise.all([1, 2].map(() => one.check.explains(status(400), upstream, 'legacy', false)))).toEqual([
    false,
    false,
  ]);
  expect(await one.check.explains(status(400), upstream, 'legacy', false)).toBe(false);
  expect(one.probe).toHaveBeenCalledOnce();
  vi.setSystemTime(Date.now() + 5000);
  await one.check.explains(status(400), upstream, 'legacy', false);
  expect(one.probe).toHaveBeenCalledTimes(2);
  expect(one.drop).not.toHaveBeenCalled();
  vi.useRealTimers();
});

test('what has no clear sign is sent again only where that does no harm', async () => {
  const error = RpcError.fromObject({ code: -32000, message: 'Bad Request: Server not initialized' });
  const one = foreign();
  expect(await one.check.explains(error, upstream, 'modern', false)).toBe(false);
  expect(one.drop).toHaveBeenCalledExactlyOnceWith(upstream);
  expect(await one.check.explains(error, upstream, 'modern', true)).toBe(true);
});

test('a connection that is lost shows nothing of the server, and what was sent over it is not sent again', async () => {
  const one = foreign();
  const lost = { closed: true } as Upstream;
  expect(await one.check.explains(status(400), lost, 'legacy', false)).toBe(false);
  expect(one.probe).not.toHaveBeenCalled();
});

test('a probe that is lost shows nothing', async () => {
  const one = check(() => Promise.reject(new Error('reset')));
  expect(await one.check.explains(status(400), upstream, 'modern', false)).toBe(false);
  expect(one.drop).not.toHaveBeenCalled();
});
