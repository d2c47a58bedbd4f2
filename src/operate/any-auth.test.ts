import { describe, expect, test } from 'vitest';
import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/server/call.ts';
import type { Authenticator, AuthRefusal } from '../transport/http/server/access/authenticator.ts';
import { anyAuth } from './any-auth.ts';

function authenticator(name: string, refusal: AuthRefusal['status'] = 401): Authenticator {
  return {
    credentialHeaders: new Set([`x-${name}`]),
    authenticate: async (call): Promise<AuthInfo | AuthRefusal> =>
      call.header('authorization') === name
        ? { principal: name, scopes: [] }
        : { status: refusal, message: `not ${name}`, headers: {} },
    authorize: () => ({ status: 403, message: `${name} says no`, headers: {} }),
    metadata: (call) => (call.path === `/${name}` ? { name } : undefined),
  };
}

function shows(credential: string, path = '/mcp'): HttpCall {
  return { path, header: () => credential } as Partial<HttpCall> as HttpCall;
}

describe('several authenticators combined', () => {
  const both = anyAuth(authenticator('one'), authenticator('two'));
  const request = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as const;

  test.each(['one', 'two'])(
    'accept callers that the authenticator %s accepts, which also decides about their scopes',
    async (name) => {
      const auth = (await both.authenticate(shows(name))) as AuthInfo;
      expect(auth.principal).toBe(name);
      expect(both.authorize(auth, request, [])?.message).toBe(`${name} says no`);
    },
  );

  test('refuse other callers as the last authenticator does', async () => {
    expect(await both.authenticate(shows('three'))).toMatchObject({ status: 401, message: 'not two' });
  });

  test('refuse a credential as the authenticator of its header does', async () => {
    const header = (name: string): string | undefined => (name === 'x-one' ? 'wrong' : undefined);
    const call = { path: '/mcp', header } as Partial<HttpCall> as HttpCall;
    expect(await both.authenticate(call)).toMatchObject({ status: 401, message: 'not one' });
  });

  test('report a missing scope, not an invalid credential', async () => {
    const scoped = anyAuth(authenticator('one', 403), authenticator('two'));
    expect(await scoped.authenticate(shows('three'))).toMatchObject({ status: 403, message: 'not one' });
  });

  test('serve the metadata and read the headers of all', () => {
    expect(both.metadata(shows('', '/one'))).toEqual({ name: 'one' });
    expect(both.metadata(shows('', '/two'))).toEqual({ name: 'two' });
    expect(both.metadata(shows('', '/three'))).toBeUndefined();
    expect([...both.credentialHeaders!]).toEqual(['x-one', 'x-two']);
  });
});

test('a single authenticator is returned unchanged, and none is an error', () => {
  const only = authenticator('one');
  expect(anyAuth(only)).toBe(only);
  expect(() => anyAuth()).toThrow('at least one authenticator');
});
