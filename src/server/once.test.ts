import { expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { Context } from './context.ts';

const setUp = (notes?: Map<string, unknown>) => {
  const exchange = new TestExchange('tools/call');
  for (const [key, value] of notes ?? []) exchange.notes.set(key, value);
  return { exchange, ctx: new Context(exchange) };
};

test('a value is computed once for each request, in another process too', async () => {
  const make = vi.fn<() => unknown>(() => ({ paid: [1, null, 'x', true] }));
  const { exchange, ctx } = setUp();
  const first = await ctx.once('pay', make);
  expect(first).toEqual({ paid: [1, null, 'x', true] });
  expect(await ctx.once('pay', make)).toEqual(first);
  // The stored values travel with the request as JSON.
  const notes = new Map<string, unknown>(JSON.parse(JSON.stringify([...exchange.notes])));
  expect(await setUp(notes).ctx.once('pay', make)).toEqual(first);
  expect(make).toHaveBeenCalledOnce();
});

test('keys are distinct from each other and from other notes', async () => {
  const { exchange, ctx } = setUp();
  exchange.notes.set('a', 'another note');
  expect(await ctx.once('a', () => 1)).toBe(1);
  expect(await ctx.once('b', () => 2)).toBe(2);
  expect(exchange.notes.get('a')).toBe('another note');
});

test('each call gets a copy of the stored value', async () => {
  const { ctx } = setUp();
  const value: Record<string, unknown> = { a: 1, gone: undefined };
  const first = await ctx.once('k', () => value);
  expect(first).toStrictEqual({ a: 1 });
  first['a'] = 2;
  value['a'] = 3;
  expect(await ctx.once('k', () => value)).toStrictEqual({ a: 1 });
});

test('simultaneous runs with one key are one run, in two contexts too', async () => {
  const { exchange, ctx } = setUp();
  let finish!: (value: string) => void;
  const make = vi.fn<() => Promise<string>>(() => new Promise((resolve) => (finish = resolve)));
  const runs = [ctx.once('k', make), ctx.once('k', make), new Context(exchange).once('k', make)];
  await vi.waitFor(() => expect(make).toHaveBeenCalled());
  finish('made');
  expect(await Promise.all(runs)).toEqual(['made', 'made', 'made']);
  expect(make).toHaveBeenCalledOnce();
});

test('a run that fails is not stored', async () => {
  const { ctx } = setUp();
  const fail = () => {
    throw new Error('no money');
  };
  const failed = await Promise.allSettled([ctx.once('k', fail), ctx.once('k', fail)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await ctx.once('k', () => 'paid')).toBe('paid');
});

test('undefined can be stored, and is distinct from null', async () => {
  const { exchange, ctx } = setUp();
  const nothing = vi.fn<() => undefined>(() => undefined);
  expect(await ctx.once('nothing', nothing)).toBeUndefined();
  expect(await ctx.once('null', () => null)).toBeNull();
  const again = setUp(new Map<string, unknown>(JSON.parse(JSON.stringify([...exchange.notes])))).ctx;
  expect(await again.once('nothing', nothing)).toBeUndefined();
  expect(await again.once<unknown>('null', nothing)).toBeNull();
  expect(nothing).toHaveBeenCalledOnce();
});

const circle: unknown[] = [];
circle.push(circle);

test.each<[string, unknown]>([
  ['a date', new Date(0)],
  ['a map', { a: new Map() }],
  ['a function', () => 1],
  ['a big integer', 1n],
  ['NaN', [Number.NaN]],
  ['a list with undefined', [undefined]],
  ['a circular object', circle],
])('%s is refused because it is not JSON', async (_, value) => {
  const { exchange, ctx } = setUp();
  await expect(ctx.once('k', () => value)).rejects.toThrow(TypeError);
  expect(exchange.notes.size).toBe(0);
});
