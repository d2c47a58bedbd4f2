import { expect, test } from 'vitest';
import { errorResponse, notification, request, resultResponse } from '../jsonrpc/message.ts';
import { InFlight } from './in-flight.ts';

const cancelled = (requestId: unknown) => notification('notifications/cancelled', { requestId });

test('a request is in flight until its response is sent', () => {
  const inFlight = new InFlight();
  inFlight.add(request(1, 'a'));
  inFlight.add(request('1', 'b'));
  inFlight.add(notification('c'));
  inFlight.add(resultResponse(9, {}));
  expect([inFlight.size, inFlight.has(1), inFlight.has('1'), inFlight.has(9)]).toEqual([2, true, true, false]);
  inFlight.settle(request(1, 'of our own'));
  inFlight.settle(errorResponse(undefined, { code: -32700, message: 'x' }));
  expect(inFlight.size).toBe(2);
  inFlight.settle(resultResponse(1, {}));
  inFlight.settle(errorResponse('1', { code: 1, message: 'x' }));
  expect(inFlight.size).toBe(0);
});

test('a cancelled request is no longer in flight, because it gets no answer', () => {
  const inFlight = new InFlight();
  inFlight.add(request(1, 'a'));
  inFlight.add(cancelled('1'));
  inFlight.add(cancelled(undefined));
  inFlight.add(notification('notifications/cancelled'));
  expect(inFlight.size).toBe(1);
  inFlight.add(cancelled(1));
  expect(inFlight.size).toBe(0);
});

test('initialize cannot be cancelled', () => {
  const inFlight = new InFlight();
  inFlight.add(request(1, 'initialize'));
  inFlight.add(cancelled(1));
  expect(inFlight.has(1)).toBe(true);
  inFlight.settle(resultResponse(1, {}));
  inFlight.add(request(1, 'other'));
  inFlight.add(cancelled(1));
  expect(inFlight.has(1)).toBe(false);
});
