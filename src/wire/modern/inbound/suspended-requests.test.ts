import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SuspendedRequests, type Parked, type ParkingOptions } from './suspended-requests.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const MiB = 2 ** 20;

interface Waiting extends Parked {
  readonly reasons: string[];
}

let count = 0;
function waiting(principal?: string, bytes = 0): Waiting {
  const reasons: string[] = [];
  return {
    id: String((count += 1)),
    principal,
    address: undefined,
    bytes,
    reasons,
    giveUp: ({ message }) => void reasons.push(message),
  };
}

const parking = (options: Partial<ParkingOptions> = {}): SuspendedRequests<Waiting> =>
  new SuspendedRequests({ lifetime: 600_000, maxSuspended: 1000, maxSuspendedPerPrincipal: 100, ...options });

test('what was added is found by its id until it is taken away', () => {
  const places = parking();
  const one = waiting('ada');
  places.add(one);
  expect([places.get(one.id), places.size]).toEqual([one, 1]);
  places.delete(one);
  places.delete(one);
  expect([places.get(one.id), places.size]).toEqual([undefined, 0]);
  vi.advanceTimersByTime(600_000);
  expect(one.reasons).toEqual([]);
});

test('who does not come back in time is given up', () => {
  const places = parking({ lifetime: 1000 });
  const one = waiting();
  places.add(one);
  vi.advanceTimersByTime(999);
  expect(one.reasons).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(one.reasons).toEqual([expect.stringContaining('within 1000 ms')]);
});

test('a full table refuses, until the oldest has waited a minute', () => {
  const places = parking({ maxSuspended: 2 });
  const [first, second, third] = [waiting(), waiting(), waiting()];
  places.add(first);
  vi.advanceTimersByTime(30_000);
  places.add(second);
  vi.advanceTimersByTime(29_999);
  expect(() => places.add(third)).toThrow('Too many');
  expect([places.size, first.reasons]).toEqual([2, []]);
  vi.advanceTimersByTime(1);
  places.add(third);
  expect(first.reasons).toEqual([expect.stringContaining('too many others')]);
  expect([places.get(first.id), places.get(second.id), places.get(third.id)]).toEqual([undefined, second, third]);
});

test('a principal gives up its own oldest, and never that of another', () => {
  const places = parking({ maxSuspendedPerPrincipal: 1 });
  const [ada, eve] = [waiting('ada'), waiting('eve')];
  places.add(ada);
  places.add(eve);
  expect(() => places.add(waiting('eve'))).toThrow('Too many');
  places.add(waiting());
  vi.advanceTimersByTime(60_000);
  places.add(waiting('eve'));
  expect([ada.reasons.length, eve.reasons.length]).toEqual([0, 1]);
  expect(places.size).toBe(3);
});

test('who has left gives its share back', () => {
  const places = parking({ maxSuspendedPerPrincipal: 2 });
  for (let round = 0; round < 5; round += 1) {
    const both = [waiting('ada'), waiting('ada')];
    both.forEach((one) => places.add(one));
    expect(() => places.add(waiting('ada'))).toThrow('Too many');
    both.forEach((one) => places.delete(one));
  }
  expect(places.size).toBe(0);
});

test('names of principals mean nothing', () => {
  const places = parking({ maxSuspendedPerPrincipal: 1 });
  for (const principal of ['__proto__', 'constructor', '', 'undefined']) {
    places.add(waiting(principal));
    expect(() => places.add(waiting(principal))).toThrow('Too many');
  }
});

test('the bytes of all are bounded, however many have to go for one', () => {
  const places = parking();
  const small = Array.from({ length: 64 }, () => waiting(undefined, MiB));
  small.forEach((one) => places.add(one));
  expect(() => places.add(waiting(undefined, 1))).toThrow('Too many');
  vi.advanceTimersByTime(60_000);
  places.add(waiting(undefined, 10 * MiB));
  expect(small.filter(({ reasons }) => reasons.length > 0)).toEqual(small.slice(0, 10));
  expect(places.size).toBe(55);
  expect(() => places.add(waiting(undefined, 55 * MiB))).toThrow('Too many');
});

test('the bytes of one principal are a part of them, unless it is a single request', () => {
  const places = parking();
  for (let n = 0; n < 4; n += 1) places.add(waiting('eve', 4 * MiB));
  expect(() => places.add(waiting('eve', 1))).toThrow('Too many');
  places.add(waiting('ada', 30 * MiB));
  expect(() => places.add(waiting('ada', 1))).toThrow('Too many');
  vi.advanceTimersByTime(60_000);
  places.add(waiting('eve', 8 * MiB));
  expect(places.size).toBe(4);
});

test('what is larger than all that may wait is refused, and nobody gives way to it', () => {
  const places = parking();
  places.add(waiting());
  vi.advanceTimersByTime(60_000);
  expect(() => places.add(waiting(undefined, 65 * MiB))).toThrow('Too many');
  expect(places.size).toBe(1);
});

test('when it closes all are given up, and nothing comes in any more', () => {
  const places = parking();
  const all = [waiting('ada'), waiting()];
  all.forEach((one) => places.add(one));
  places.close(new Error('the end'));
  expect(all.map(({ reasons }) => reasons)).toEqual([['the end'], ['the end']]);
  expect(() => places.add(waiting())).toThrow('the end');
});

test('what waits does not keep the process from ending', () => {
  vi.useRealTimers();
  const places = parking();
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const one = waiting();
  places.add(one);
  expect(timers()).toBe(before);
  places.delete(one);
});
