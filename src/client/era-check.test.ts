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

test.each([400, 404, 405, 415])(
  'a server that turns requests away with %i, and the probe too, is another',
  async (code) => {
    const one = foreign();
    expect(await one.check.explains(status(code), upstream)).toBe(true);
    expect(one.drop).toHaveBeenCalledExactlyOnceWith(upstream);
    // Those that were turned away with it need not ask.
    expect(await one.check.explains(status(code), upstream)).toBe(true);
    expect(one.probe).toHaveBeenCalledOnce();
  },
);

test('a server that knows the version of no request is another, whatever its status', async () => {
  const unsupported = RpcError.fromObject({ code: -32022, message: 'Unsupported protocol version' });
  const one = check(() => Promise.reject(unsupported));
  expect(await one.check.explains(unsupported, upstream)).toBe(true);
  expect(one.drop).toHaveBeenCalledOnce();
});

test('what was shown to be another stays so, when its successor is one, too', async () => {
  const one = foreign();
  const successor = {} as Upstream;
  for (const each of [upstream, successor, upstream]) expect(await one.check.explains(status(400), each)).toBe(true);
  expect(one.probe).toHaveBeenCalledTimes(2);
});

test.each<[string, unknown]>([
  ['an error without a status', RpcError.fromObject({ code: -32000, message: 'Bad Request' })],
  ['another login', status(401)],
  ['less haste', status(429)],
  ['a server in trouble', status(500)],
  ['an answer that is none', status(200)],
  ['a lost connection', new Error('reset')],
  ['no error', 'thrown'],
])('%s is no reason to ask', async (_, error) => {
  const one = foreign();
  expect(await one.check.explains(error, upstream)).toBe(false);
  expect(one.probe).not.toHaveBeenCalled();
});

test('a server that answers the probe is what it was, and is asked at most every five seconds', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const one = sound();
  expect(await Promise.all([1, 2].map(() => one.check.explains(status(400), upstream)))).toEqual([false, false]);
  expect(await one.check.explains(status(400), upstream)).toBe(false);
  expect(one.probe).toHaveBeenCalledOnce();
  vi.setSystemTime(Date.now() + 5000);
  await one.check.explains(status(400), upstream);
  expect(one.probe).toHaveBeenCalledTimes(2);
  expect(one.drop).not.toHaveBeenCalled();
  vi.useRealTimers();
});

test('a connection that is lost shows nothing of the server, and what was sent over it is not sent again', async () => {
  const one = foreign();
  const lost = { closed: true } as Upstream;
  expect(await one.check.explains(status(400), lost)).toBe(false);
  expect(one.probe).not.toHaveBeenCalled();
});

test('a probe that is lost shows nothing', async () => {
  const one = check(() => Promise.reject(new Error('reset')));
  expect(await one.check.explains(status(400), upstream)).toBe(false);
  expect(one.drop).not.toHaveBeenCalled();
});
