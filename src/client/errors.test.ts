import { describe, expect, test } from 'vitest';
import { OAuthError } from '../auth/client/oauth-error.ts';
import { isSessionGone } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { AnswerLost, HttpStatusError, SessionGone } from '../transport/http/client/errors.ts';
import { NotSent } from '../transport/http/client/http.ts';
import {
  connectFailure,
  ConnectionError,
  failure,
  InvalidResultError,
  mayRepeat,
  RevisionChanged,
  TaskCancelledError,
  TimeoutError,
} from './errors.ts';

const body = { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'no' } } as const;
const within = (cause: Error, code = -32000): RpcError => new RpcError(code, cause.message, { cause });
const failed = (cause: Error): Error => failure('tools/call', within(cause), false);

test('a login that failed is the error of the call and of the connection', () => {
  const login = new OAuthError('authorization', 'access_denied');
  const thrown = within(new ConnectionError('x', { cause: login }));
  expect(failure('tools/call', thrown, false)).toBe(login);
  expect(connectFailure(thrown, undefined, 1)).toBe(login);
});

describe('a failed call', () => {
  test.each<[string, Error, boolean, boolean]>([
    ['was not sent', new NotSent('refused'), true, true],
    ['was refused because its session had ended', new SessionGone(true), true, true],
    ['may have run before its session ended', new SessionGone(false), false, true],
    ['lost its response', new AnswerLost('reset'), false, true],
    [
      'lost its response, which could not be requested again',
      new AnswerLost('x', { cause: new NotSent('y') }),
      false,
      true,
    ],
    [
      'lost its response, and the next request for it was refused',
      new AnswerLost('x', { cause: new HttpStatusError(410, 'z') }),
      false,
      true,
    ],
    ['was refused', new HttpStatusError(403, 'Forbidden'), false, false],
  ])('that %s is repeated: %j if it is not idempotent, %j if it is', (_, cause, harmful, harmless) => {
    expect([mayRepeat(failed(cause), false), mayRepeat(failed(cause), true)]).toEqual([harmful, harmless]);
  });

  test('has an error that says whether it ran', () => {
    expect(failed(new NotSent('refused'))).toMatchObject({ notExecuted: true });
    expect(failed(new HttpStatusError(429, 'Too Many Requests'))).toMatchObject({ notExecuted: true });
    expect(failed(new AnswerLost('x', { cause: new NotSent('y') }))).toMatchObject({ notExecuted: false });
    expect(failed(new Error('out of memory'))).toMatchObject({ notExecuted: false });
  });

  test('is not repeated at once if there is no connection', () => {
    const error = connectFailure(within(new NotSent('refused')), undefined, 1);
    expect(error).toMatchObject({ name: 'ConnectionError', notExecuted: true });
    expect(mayRepeat(error, true)).toBe(false);
  });

  test.each<[string, Error, boolean]>([
    ['did not run', within(new HttpStatusError(400, 'no'), -32600), true],
    ['did not run, by its status', within(new HttpStatusError(405, 'no')), true],
    ['may have run', within(new HttpStatusError(400, 'no')), false],
  ])('is not repeated if the server now speaks another revision and the call %s', (_, cause, notExecuted) => {
    const error = new RevisionChanged('tools/call', '2025-11-25', cause);
    expect(error).toMatchObject({ name: 'ConnectionError', notExecuted, cause });
    expect(error.message).toContain(
      notExecuted ? 'did not run and can be repeated' : 'repeat this one only if it may run twice',
    );
    expect(mayRepeat(error, true)).toBe(false);
  });

  test('is not repeated after the server has answered', () => {
    expect(mayRepeat(new RpcError(-32603, 'no'), true)).toBe(false);
    expect(mayRepeat(new InvalidResultError('no'), true)).toBe(false);
    expect(mayRepeat('thrown', true)).toBe(false);
  });
});

test('the server’s own errors stay unchanged, whatever their code and status', () => {
  for (const error of [
    new RpcError(-32603, 'no'),
    new RpcError(-32000, 'no'),
    within(new HttpStatusError(400, 'Bad Request', body), -32602),
  ]) {
    expect(failure('tools/call', error, false)).toBe(error);
  }
});

test('all other errors are connection errors that say what failed and why', () => {
  const lost = new AnswerLost('reset by peer');
  expect(failed(lost)).toMatchObject({
    name: 'ConnectionError',
    message: 'tools/call failed: reset by peer',
    cause: { cause: lost },
  });
  const closed = new RpcError(-32000, 'Connection closed');
  expect(failure('tools/call', closed, true)).toBeInstanceOf(ConnectionError);
  expect(failure('tools/call', 'odd', false)).toBeInstanceOf(RpcError);
});

test('a lost session is recognised among the causes of other errors', () => {
  expect(isSessionGone(failed(new SessionGone(true)))).toBe(true);
  expect(isSessionGone(failed(new AnswerLost('reset')))).toBe(false);
});

test('circular causes are followed only once', () => {
  const error = new Error('round');
  error.cause = error;
  expect(mayRepeat(error, true)).toBe(false);
});

test('the error of a failed connection includes the errors of earlier attempts', () => {
  const refusal = new RpcError(-32602, 'Unsupported protocol version');
  expect(connectFailure(refusal, undefined, 1)).toBe(refusal);
  expect(connectFailure(new RpcError(-32001, 'Request timed out'), undefined, 7)).toMatchObject({ limit: 7 });
  expect(connectFailure(new RpcError(-32000, 'Connection closed'), new Error('not JSON: hello'), 1)).toMatchObject({
    name: 'ConnectionError',
    message: 'Cannot connect: Connection closed (before that: not JSON: hello)',
  });
  const unwritten = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  expect(connectFailure(new RpcError(-32000, 'Connection closed'), unwritten, 1).message).toBe(
    'Cannot connect: Connection closed',
  );
});

test('no error has control characters of a server in its message or in its stack', () => {
  const text = 'red: \u001b[31m\u202e\nnext';
  const errors = [
    new ConnectionError(text),
    new TimeoutError(text, 1),
    new InvalidResultError(text),
    new TaskCancelledError(text),
    failed(new Error(text)),
    connectFailure(new Error(text), new Error(`before: ${text}`), 1),
  ];
  for (const { message, stack } of errors) {
    expect(message).toContain('red: \\u001b[31m\\u202e\nnext');
    for (const unsafe of ['\u001b', '\u202e']) expect(`${message}${stack}`).not.toContain(unsafe);
  }
});

test.each<[string, (message: string) => Error]>([
  ['ConnectionError', (message) => new ConnectionError(message)],
  ['TimeoutError', (message) => new TimeoutError(message, 1)],
  ['InvalidResultError', (message) => new InvalidResultError(message)],
  ['TaskCancelledError', (message) => new TaskCancelledError(message)],
])('the message of a %s keeps its lines, and is cut: a server may have sent millions of characters', (_, make) => {
  const message = `first\n${'\u007f'.repeat(1_000_000)}`;
  expect(make(message).message).toBe(`first\n${'\\u007f'.repeat(8192 - 6)}…`);
});
