import { describe, expect, test } from 'vitest';
import { ProtectedResource, type ResourceOptions } from './protected-resource.ts';

const RESOURCE = 'https://mcp.example.com/mcp';
const METADATA = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
const PATHS = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'];
const ISSUER = 'https://issuer.example';

const resource = (options: Partial<ResourceOptions> = {}, scopes: readonly string[] = ['mcp', 'read']) =>
  new ProtectedResource({ resource: RESOURCE, ...options }, [ISSUER], scopes);

describe('the metadata', () => {
  test.each(PATHS)('is served at %s', (path) => {
    expect(resource().document(path)).toEqual({
      resource: RESOURCE,
      authorization_servers: [ISSUER],
      scopes_supported: ['mcp', 'read'],
      bearer_methods_supported: ['header'],
    });
  });

  test.each(['/', '/mcp', '/.well-known/oauth-protected-resource/', '/.well-known/oauth-protected-resource/other'])(
    'is not served at %s',
    (path) => {
      expect(resource().document(path)).toBeUndefined();
    },
  );

  test('has the values of the options, which other members cannot replace', () => {
    const options = {
      scopesSupported: ['write'],
      resourceName: 'Files',
      resourceDocumentation: 'https://docs.example',
      metadata: {
        resource: 'https://evil.example',
        authorization_servers: ['https://evil.example'],
        bearer_methods_supported: ['query'],
        resource_policy_uri: 'https://policy.example',
      },
    };
    expect(resource(options).document(PATHS[0]!)).toEqual({
      resource: RESOURCE,
      authorization_servers: [ISSUER],
      scopes_supported: ['write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Files',
      resource_documentation: 'https://docs.example',
      resource_policy_uri: 'https://policy.example',
    });
  });

  test('keeps other members that no option sets', () => {
    const metadata = {
      scopes_supported: ['all'],
      resource_name: 'Files',
      resource_documentation: 'https://docs.example',
    };
    expect(resource({ metadata }, []).document(PATHS[0]!)).toMatchObject(metadata);
  });

  test('names no scopes if there are none', () => {
    expect(resource({}, []).document(PATHS[0]!)).not.toHaveProperty('scopes_supported');
  });
});

describe('the error description of a refusal', () => {
  test.each([
    [
      'without a token',
      () => resource().unauthorized(undefined),
      401,
      'An access token is required',
      `Bearer resource_metadata="${METADATA}", scope="mcp read"`,
    ],
    [
      'for a bad token',
      () => resource().invalidToken('It has expired'),
      401,
      'It has expired',
      `Bearer error="invalid_token", error_description="It has expired", resource_metadata="${METADATA}", scope="mcp read"`,
    ],
    [
      'for a malformed credential',
      () => resource().invalidRequest(),
      400,
      'The Authorization header must contain exactly one Bearer token',
      `Bearer error="invalid_request", error_description="The Authorization header must contain exactly one Bearer token", resource_metadata="${METADATA}"`,
    ],
    [
      'for a missing scope',
      () => resource().insufficientScope(['mcp', 'write']),
      403,
      'The credential does not have all the scopes that this needs: mcp write',
      `Bearer error="insufficient_scope", scope="mcp write", resource_metadata="${METADATA}"`,
    ],
  ])('%s says what to do', (_, refusal, status, message, challenge) => {
    expect(refusal()).toMatchObject({ status, message, headers: { 'www-authenticate': challenge } });
  });
});

test.each<[string, Partial<ResourceOptions>, string[], string[]]>([
  ['resource must be an absolute URL', { resource: 'mcp.example.com' }, [ISSUER], []],
  ['resource must not have a query', { resource: `${RESOURCE}?a` }, [ISSUER], []],
  ['Set at least one authorization server', {}, [], []],
  ['An authorization server must be an https URL', {}, [ISSUER, 'http://issuer.example'], []],
  ['Not a scope: "a b"', {}, [ISSUER], ['a b']],
  ['Not a scope: "a b"', { scopesSupported: ['a b'] }, [ISSUER], []],
])('invalid options are refused: %s', (problem, options, servers, scopes) => {
  expect(() => new ProtectedResource({ resource: RESOURCE, ...options }, servers, scopes)).toThrow(problem);
});
