import { describe, expect, test } from 'vitest';
import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/call.ts';
import type { Gate, Refusal } from '../transport/http/gate.ts';
import { anyGate } from './any-gate.ts';

function gate(name: string, refusal: Refusal['status'] = 401): Gate {
  return {
    credentials: new Set([`x-${name}`]),
    authenticate: async (call): Promise<AuthInfo | Refusal> =>
      call.header('authorization') === name
        ? { principal: name, scopes: [] }
        : { status: refusal, message: `not ${name}`, headers: {} },
    authorize: () => ({ status: 403, message: `${name} says no`, headers: {} }),
    documents: (call) => (call.path === `/${name}` ? { name } : undefined),
  };
}

function shows(credential: string, path = '/mcp'): HttpCall {
  return { path, header: () => credential } as Partial<HttpCall> as HttpCall;
}

describe('several gates in one', () => {
  const both = anyGate(gate('one'), gate('two'));
  const request = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as const;

  test.each(['one', 'two'])('let in whom %s lets in, and leave it to that gate what it may do', async (name) => {
    const auth = (await both.authenticate(shows(name))) as AuthInfo;
    expect(auth.principal).toBe(name);
    expect(both.authorize(auth, request, [])?.message).toBe(`${name} says no`);
  });

  test('refuse others as the last of them does', async () => {
    expect(await both.authenticate(shows('three'))).toMatchObject({ status: 401, message: 'not two' });
  });

  test('say of a credential in a header of one of them what that one says', async () => {
    const header = (name: string): string | undefined => (name === 'x-one' ? 'wrong' : undefined);
    const call = { path: '/mcp', header } as Partial<HttpCall> as HttpCall;
    expect(await both.authenticate(call)).toMatchObject({ status: 401, message: 'not one' });
  });

  test('tell who lacks a scope so, and not that the credential is no good', async () => {
    const scoped = anyGate(gate('one', 403), gate('two'));
    expect(await scoped.authenticate(shows('three'))).toMatchObject({ status: 403, message: 'not one' });
  });

  test('have the documents and the headers of all', () => {
    expect(both.documents(shows('', '/one'))).toEqual({ name: 'one' });
    expect(both.documents(shows('', '/two'))).toEqual({ name: 'two' });
    expect(both.documents(shows('', '/three'))).toBeUndefined();
    expect([...both.credentials!]).toEqual(['x-one', 'x-two']);
  });
});

test('one gate is itself, and none is a mistake', () => {
  const only = gate('one');
  expect(anyGate(only)).toBe(only);
  expect(() => anyGate()).toThrow('at least one gate');
});
