import { expect, test } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { CallSignal } from './call-signal.ts';

test('it fires once, by its exchange or by itself, and tells who listens then', () => {
  const heard: string[] = [];
  const exchange = new TestExchange('m');
  const signal = new CallSignal(exchange);
  signal.addEventListener('abort', () => heard.push('heard'));
  expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
  const reason = new RpcError(1, 'late');
  signal.abort(reason);
  exchange.abort();
  expect([signal.aborted, signal.reason, heard]).toEqual([true, reason, ['heard']]);
  const other = new TestExchange('m');
  const gone = new CallSignal(other);
  other.abort();
  expect(gone.reason).toBeInstanceOf(RpcError);
});

test('who does not listen any more hears nothing, and neither does a request that is over', () => {
  const exchange = new TestExchange('m');
  const signal = new CallSignal(exchange);
  const listener = (): void => expect.fail('heard');
  signal.addEventListener('abort', listener);
  signal.removeEventListener('abort', listener);
  signal.abort(new RpcError(1, 'late'));
  const over = new CallSignal(exchange);
  over.release();
  exchange.abort();
  expect(over.aborted).toBe(false);
});

test('it has fired already where its exchange was given up before', () => {
  const exchange = new TestExchange('m');
  exchange.abort();
  const signal = new CallSignal(exchange);
  expect([signal.aborted, signal.reason]).toEqual([true, expect.any(RpcError)]);
});
