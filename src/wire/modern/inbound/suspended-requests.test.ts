import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SuspendedRequests, type SuspendedRequest, type SuspensionLimits } from './suspended-requests.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const MiB = 2 ** 20;

interface Waiting extends SuspendedRequest {
  readonly reasons: string[];
}

let count = 0;
function waiting(principal?: string, bytes = 0, address?: string): Waiting {
  const reasons: string[] = [];
  return {
    id: String((count += 1)),
    principal,
    address,
    bytes,
    reasons,
    abort: ({ message }) => void reasons.push(message),
  };
}

const suspendedRequests = (options: Partial<SuspensionLimits> = {}): SuspendedRequests<Waiting> =>
  new SuspendedRequests({ lifetime: 600_000, maxSuspended: 1000, maxSuspendedPerPrincipal: 100, ...options });

test('a request is found by its id until it is removed', () => {
  const table = suspendedRequests();
  const one = waiting('ada');
  table.add(one);
  expect([table.get(one.id), table.size]).toEqual([one, 1]);
  table.delete(one);
  table.delete(one);
  expect([table.get(one.id), table.size]).toEqual([undefined, 0]);
  vi.advanceTimersByTime(600_000);
  expect(one.reasons).toEqual([]);
});

test('a request ends if its caller does not return in time', () => {
  const table = suspendedRequests({ lifetime: 1000 });
  const one = waiting();
  table.add(one);
  vi.advanceTimersByTime(999);
  expect(one.reasons).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(one.reasons).toEqual([expect.stringContaining('within 1000 ms')]);
});

test('a full table refuses new requests until the oldest has waited for a minute', () => {
  const table = suspendedRequests({ maxSuspended: 2 });
  const [first, second, third] = [waiting(), waiting(), waiting()];
  table.add(first);
  vi.advanceTimersByTime(30_000);
  table.add(second);
  vi.advanceTimersByTime(29_999);
  expect(() => table.add(third)).toThrow('Too many');
  expect([table.size, first.reasons]).toEqual([2, []]);
  vi.advanceTimersByTime(1);
  table.add(third);
  expect(first.reasons).toEqual([expect.stringContaining('too many newer requests')]);
  expect([table.get(first.id), table.get(second.id), table.get(third.id)]).toEqual([undefined, second, third]);
});

test('a principal at its limit loses its own oldest request, never that of another', () => {
  const table = suspendedRequests({ maxSuspendedPerPrincipal: 1 });
  const [ada, eve] = [waiting('ada'), waiting('eve')];
  table.add(ada);
  table.add(eve);
  expect(() => table.add(waiting('eve'))).toThrow('Too many');
  table.add(waiting());
  vi.advanceTimersByTime(60_000);
  table.add(waiting('eve'));
  expect([ada.reasons.length, eve.reasons.length]).toEqual([0, 1]);
  expect(table.size).toBe(3);
});

test('a removed request makes room', () => {
  const table = suspendedRequests({ maxSuspendedPerPrincipal: 2 });
  for (let round = 0; round < 5; round += 1) {
    const both = [waiting('ada'), waiting('ada')];
    both.forEach((one) => table.add(one));
    expect(() => table.add(waiting('ada'))).toThrow('Too many');
    both.forEach((one) => table.delete(one));
  }
  expect(table.size).toBe(0);
});

test('a principal may have any name', () => {
  const table = suspendedRequests({ maxSuspendedPerPrincipal: 1 });
  for (const principal of ['__proto__', 'constructor', '', 'undefined']) {
    table.add(waiting(principal));
    expect(() => table.add(waiting(principal))).toThrow('Too many');
  }
});

test('the bytes of all requests are limited, even if several must end for one', () => {
  const table = suspendedRequests();
  const small = Array.from({ length: 64 }, () => waiting(undefined, MiB));
  small.forEach((one) => table.add(one));
  expect(() => table.add(waiting(undefined, 1))).toThrow('Too many');
  vi.advanceTimersByTime(60_000);
  table.add(waiting(undefined, 10 * MiB));
  expect(small.filter(({ reasons }) => reasons.length > 0)).toEqual(small.slice(0, 10));
  expect(table.size).toBe(55);
  expect(() => table.add(waiting(undefined, 55 * MiB))).toThrow('Too many');
});

test('the bytes of one principal are limited to a part, unless it is a single request', () => {
  const table = suspendedRequests();
  for (let n = 0; n < 4; n += 1) table.add(waiting('eve', 4 * MiB));
  expect(() => table.add(waiting('eve', 1))).toThrow('Too many');
  table.add(waiting('ada', 30 * MiB));
  expect(() => table.add(waiting('ada', 1))).toThrow('Too many');
  vi.advanceTimersByTime(60_000);
  table.add(waiting('eve', 8 * MiB));
  expect(table.size).toBe(4);
});

test.each<[who: string, principal?: string, address?: string]>([
  ['principal', 'eve'],
  ['address', undefined, '192.0.2.1'],
])('the %s with the most bytes makes room, even with a single new request', (_, principal, address) => {
  const table = suspendedRequests();
  const old = waiting('ada');
  table.add(old);
  vi.advanceTimersByTime(60_000);
  const large = waiting(principal, 63.99 * MiB, address);
  table.add(large);
  table.add(waiting('ada', MiB));
  expect([old.reasons.length, large.reasons.length, table.size]).toEqual([0, 1, 2]);
});

test('a large request never ends those of callers that have less', () => {
  const table = suspendedRequests();
  const small = Array.from({ length: 8 }, (_, n) => waiting(`principal ${n}`, MiB));
  small.forEach((one) => table.add(one));
  vi.advanceTimersByTime(60_000);
  expect(() => table.add(waiting('eve', 63 * MiB))).toThrow('Too many');
  expect(small.every(({ reasons }) => reasons.length === 0)).toBe(true);
});

test('an address that repeats its requests does not end those of others', () => {
  const table = suspendedRequests({ maxSuspended: 3 });
  const ada = waiting('ada');
  table.add(ada);
  vi.advanceTimersByTime(60_000);
  const eve = [waiting(undefined, 0, '192.0.2.1'), waiting(undefined, 0, '192.0.2.1')];
  eve.forEach((one) => table.add(one));
  expect(() => table.add(waiting(undefined, 0, '192.0.2.1'))).toThrow('Too many');
  table.add(waiting('bob'));
  expect([ada, ...eve].map(({ reasons }) => reasons.length)).toEqual([0, 1, 0]);
});

test('of callers that have as much as the new one, the oldest request makes room after a minute', () => {
  const table = suspendedRequests({ maxSuspended: 2 });
  const [ada, bob] = [waiting('ada'), waiting('bob')];
  table.add(ada);
  table.add(bob);
  expect(() => table.add(waiting('eve'))).toThrow('Too many');
  vi.advanceTimersByTime(60_000);
  table.add(waiting('eve'));
  expect([ada.reasons.length, bob.reasons.length]).toEqual([1, 0]);
});

test('a request above the total limit is refused, and no other ends because of it', () => {
  const table = suspendedRequests();
  table.add(waiting());
  vi.advanceTimersByTime(60_000);
  expect(() => table.add(waiting(undefined, 65 * MiB))).toThrow('Too many');
  expect(table.size).toBe(1);
});

test('closing ends all requests, and later ones are refused', () => {
  const table = suspendedRequests();
  const all = [waiting('ada'), waiting()];
  all.forEach((one) => table.add(one));
  table.close(new Error('the end'));
  expect(all.map(({ reasons }) => reasons)).toEqual([['the end'], ['the end']]);
  expect(() => table.add(waiting())).toThrow('the end');
});

test('suspended requests do not keep the process alive', () => {
  vi.useRealTimers();
  const table = suspendedRequests();
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const one = waiting();
  table.add(one);
  expect(timers()).toBe(before);
  table.delete(one);
});
