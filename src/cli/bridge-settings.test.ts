import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { withBridgeOptions, type BridgeFlags } from './bridge-options.ts';
import { readSettings, type BridgeSettings } from './bridge-settings.ts';
import type { Environment } from './read-secret.ts';
import { Failure } from './failure.ts';

const SECRET = 's3cret-0123456789';

const environment: Environment = {
  env: { TOKEN: SECRET, EMPTY: '', KEY: `${SECRET}-key` },
  read: (file) => {
    if (file === 'tokens') return `${SECRET}-one\r\n\n  ${SECRET}-two  \n`;
    if (file === 'empty') return '\n';
    if (file === 'odd') return `${SECRET} with words\n`;
    throw Object.assign(new Error(`ENOENT: ${file}`), { code: 'ENOENT' });
  },
};

function flagsOf(words: readonly string[]): BridgeFlags {
  const command = withBridgeOptions(new Command('bridge').argument('[server...]').exitOverride());
  return command
    .configureOutput({ writeErr: () => {} })
    .parse(words, { from: 'user' })
    .opts();
}

function read(...words: string[]): BridgeSettings {
  return readSettings(flagsOf(words), environment);
}

function refusal(...words: string[]): string {
  try {
    read(...words);
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== 2) throw error;
    return error.message;
  }
  throw new Error(`${words.join(' ')} was accepted`);
}

describe('settings', () => {
  test('are safe and quiet by default', () => {
    expect(read()).toEqual({
      stdio: false,
      tools: {},
      listen: {
        host: '127.0.0.1',
        port: 8000,
        path: '/mcp',
        allowedHosts: [],
        allowedOrigins: [],
        maxSessions: 100,
        idleTimeout: 1_800_000,
      },
      tls: undefined,
      access: { tokens: [], keys: [], issuer: undefined },
      config: undefined,
      connections: 'per-session',
      anonymous: 'same-user',
      headers: {},
      login: true,
      handshakeTimeout: 60_000,
      serverIdleTimeout: undefined,
      maxMemory: undefined,
      stateKey: undefined,
      drainTimeout: 10_000,
      health: true,
      metrics: 'none',
      log: { level: 'info', format: 'plain', requests: false },
      secrets: [],
      ownVariables: ['EVERWIRE_STATE_KEY'],
    });
  });

  test('read secrets from options, the environment and files', () => {
    const { access, secrets, ownVariables } = read(
      ...['--bearer', `${SECRET}-plain`, '--bearer', 'env:TOKEN', '--bearer', '@tokens', '--api-key', '${env:KEY}'],
    );
    expect(access.tokens).toEqual([`${SECRET}-plain`, SECRET, `${SECRET}-one`, `${SECRET}-two`]);
    expect(access.keys).toEqual([`${SECRET}-key`]);
    expect(secrets).toEqual(expect.arrayContaining([...access.tokens, ...access.keys]));
    expect(ownVariables).toEqual(['EVERWIRE_STATE_KEY', 'TOKEN', 'KEY']);
  });

  test('support an authorization server, with the endpoint’s URL as audience', () => {
    const issued = ['--issuer', 'https://as.example', '--audience', 'https://mcp.example/mcp'];
    expect(read(...issued).access.issuer).toEqual({
      issuer: 'https://as.example',
      audience: 'https://mcp.example/mcp',
      jwksUri: undefined,
      resource: 'https://mcp.example/mcp',
    });
    const named = ['--issuer', 'https://as.example', '--audience', 'mcp', '--resource', 'https://mcp.example/mcp'];
    expect(read(...named, '--jwks', 'https://as.example/keys').access.issuer).toMatchObject({
      audience: 'mcp',
      jwksUri: 'https://as.example/keys',
      resource: 'https://mcp.example/mcp',
    });
  });

  test('listen beyond loopback only with authentication, or if told to allow anyone', () => {
    expect(refusal('--host', '0.0.0.0')).toMatch(
      /^--host 0\.0\.0\.0 lets other machines call: .*--allow-unauthenticated/,
    );
    expect(refusal('--host', '::')).toContain('--host ::');
    for (const host of ['localhost', '127.0.0.2', '::1']) expect(read('--host', host).listen.host).toBe(host);
    expect(read('--host', '0.0.0.0', '--allow-unauthenticated').listen.host).toBe('0.0.0.0');
    expect(read('--host', '0.0.0.0', '--bearer', SECRET).listen.host).toBe('0.0.0.0');
    expect(read('--host', '0.0.0.0', '--stdio').stdio).toBe(true);
  });

  test('treat callers without a credential as one user only if nobody else can reach the bridge', () => {
    expect(read('--stdio').anonymous).toBe('one-client');
    expect(read('--host', 'localhost').anonymous).toBe('same-user');
    expect(read('--host', '0.0.0.0', '--allow-unauthenticated').anonymous).toBe('different-users');
    // A proxy that forwards to loopback has more than one user.
    expect(read('--allow-host', 'mcp.example').anonymous).toBe('different-users');
  });

  test('allow web pages of the given origins, including browser extensions', () => {
    const origins = ['https://app.example', 'chrome-extension://abcdef', '*'];
    const words = origins.flatMap((origin) => ['--allow-origin', origin]);
    expect(read(...words, 'https://server.example/mcp').listen.allowedOrigins).toEqual(origins);
  });

  test('log requests with JSON logs, unless told otherwise', () => {
    expect(read('--log-format', 'json').log.requests).toBe(true);
    expect(read('--log-format', 'json', '--no-log-requests').log.requests).toBe(false);
    expect(read('--log-requests').log.requests).toBe(true);
  });

  test('set the limits of connections and requests to the server', () => {
    const words = ['--max-memory', '512', '--server-idle-timeout', '900', '--state-key', 'env:KEY', '--no-login'];
    const settings = read(...words);
    expect(settings).toMatchObject({ maxMemory: 512 * 1024 ** 2, serverIdleTimeout: 900_000, login: false });
    expect(settings.stateKey).toBe(`${SECRET}-key`);
    expect(settings.ownVariables).toEqual(['EVERWIRE_STATE_KEY', 'KEY']);
    expect(settings.secrets).toContain(`${SECRET}-key`);
  });

  test.each([
    [['--pool', '3'], 3],
    [['--shared'], 'shared'],
    [['--per-session'], 'per-session'],
  ] as const)('connect in the way that %j says', (words, connections) => {
    expect(read(...words).connections).toBe(connections);
  });
});

describe('an invalid setting is reported with the name of its option', () => {
  test.each([
    [['--tls-cert', 'cert.pem'], /^--tls-cert needs its key: add --tls-key/],
    [['--tls-key', 'key.pem'], /^--tls-key needs the certificate/],
    [['--bearer', 'short'], /^--bearer is too short/],
    [['--bearer', `${SECRET} two`], /^--bearer must consist of/],
    [['--bearer', '@missing'], /^--bearer cannot read missing: there is no such file or folder/],
    [['--bearer', '@empty'], /^--bearer found no secret in empty/],
    [['--api-key', '@odd'], /^--api-key in odd, line 1, must consist of/],
    [['--api-key', 'env:NONE'], /^--api-key needs the environment variable NONE/],
    [['--api-key', 'env:EMPTY'], /^--api-key needs the environment variable EMPTY/],
    [['--jwks', 'https://as.example/keys'], /^--jwks needs the authorization server: add --issuer/],
    [['--audience', 'mcp'], /^--audience needs the authorization server/],
    [['--issuer', 'https://as.example'], /^--issuer needs the audience of its tokens: add --audience/],
    [['--issuer', 'as.example', '--audience', 'https://mcp.example'], /^--issuer must be a URL/],
    [['--issuer', 'https://as.example', '--audience', 'mcp'], /^--resource is needed if --audience is not a URL/],
    [['--config', 'mcp.json', '--header', 'X: y'], /^--header cannot be used with --config/],
    [['--header', 'x-team=blue'], /^--header must be written 'Name: value', not name=value$/],
    [['--metrics-auth'], /^--metrics-auth needs callers that authenticate/],
    [['--state-key', 'fifteen-letters'], /^--state-key is too short: it must have at least 16 characters/],
    [['--state-key', '@tokens'], /^--state-key must be one secret, but the file has several lines/],
    [['--state-key', 'env:NONE'], /^--state-key needs the environment variable NONE/],
    [['--path', '/readyz'], /^--path \/readyz is already the path of a page/],
    [['--path', '/metrics', '--metrics'], /^--path \/metrics is already the path of a page/],
  ])('%j', (words, message) => {
    const refused = refusal(...words);
    expect(refused).toMatch(message);
    expect(refused).not.toContain(SECRET);
  });

  test.each([
    [['--drain-timeout', '9999999'], /--drain-timeout.*up to 2000000/],
    [['--allow-origin', 'app.example'], /--allow-origin.*It must be like https:\/\/app\.example, or \*/],
    [['--allow-origin', 'https://app.example/path'], /--allow-origin.*It must be like/],
    [['--log-level', 'loud'], /--log-level.*Allowed choices are/],
    [['--pool', '0'], /--pool/],
    [['--shared', '--pool', '2'], /'--shared' cannot be used with option '--pool <number>'/],
    [['--stdio', '--bearer', SECRET], /'--stdio' cannot be used with option '--bearer <token>'/],
    [['--stdio', '--metrics'], /'--stdio' cannot be used with option '--metrics'/],
    [['--max-memory', '0.5'], /--max-memory/],
    [['--server-idle-timeout', '0'], /--server-idle-timeout/],
  ])('%j', (words, message) => {
    expect(() => flagsOf(words)).toThrow(message);
  });
});
