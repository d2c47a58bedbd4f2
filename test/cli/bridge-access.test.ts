import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { bearer, client, startBridge } from '../support/bridge-program.ts';
import { canCertify, certificate } from '../support/certificate.ts';
import { features, startEverwire } from '../support/command-line.ts';
import { TestIssuer } from '../support/issuer.ts';
import { programs } from '../support/process.ts';

describe('a caller', () => {
  test('authenticates with a token or a key from the command line, a file or the environment', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'everwire-bridge-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const file = path.join(directory, 'tokens');
    writeFileSync(file, 'token-in-file-1\ntoken-in-file-2\n');
    const server = await startBridge(
      ['--bearer', `@${file}`, '--bearer', 'env:BRIDGE_TOKEN', '--api-key', 'key-on-the-line', ...features],
      { BRIDGE_TOKEN: 'token-in-environment' },
    );
    for (const token of ['token-in-file-1', 'token-in-file-2', 'token-in-environment', 'key-on-the-line']) {
      const caller = await client(server.url, bearer(token));
      expect((await caller.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    }
    const keyed = await client(server.url, { headers: { 'x-api-key': 'key-on-the-line' } });
    expect((await keyed.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    await expect(connect(server.url)).rejects.toThrow(/401/);
    await expect(connect(server.url, bearer('token-of-nobody'))).rejects.toThrow(/401/);
    await expect(connect(server.url, { headers: { 'x-api-key': 'token-in-file-1' } })).rejects.toThrow(/401/);
  });

  test('is accepted with a token of the authorization server, and others learn where to get one', async () => {
    const issuer = await TestIssuer.start();
    onTestFinished(() => issuer.close());
    const audience = 'http://127.0.0.1/mcp';
    const server = await startBridge([
      ...['--issuer', issuer.url, '--jwks', `${issuer.origin}/keys`, '--audience', audience],
      ...['--api-key', 'key-beside-it', ...features],
    ]);
    for (const token of [await issuer.token(audience), 'key-beside-it']) {
      const caller = await client(server.url, bearer(token));
      expect((await caller.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    }
    const refused = await server.get('/mcp', { authorization: `Bearer ${await issuer.token('http://elsewhere')}` });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain(
      'resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource/mcp"',
    );
    expect(await (await server.get('/.well-known/oauth-protected-resource/mcp')).json()).toMatchObject({
      resource: audience,
      authorization_servers: [issuer.url],
    });
  });

  test('is not accepted beyond loopback, unless the bridge allows anyone', async () => {
    const refused = startEverwire(['bridge', '--host', '0.0.0.0', '--port', '0', ...features]);
    expect(await refused.exited).toEqual({ code: 2, signal: null });
    expect(refused.stderr).toEqual([expect.stringMatching(/^everwire: --host 0\.0\.0\.0 lets other machines call/)]);
    const open = await startBridge(['--host', '0.0.0.0', '--allow-unauthenticated', ...features]);
    expect((await open.get('/readyz')).status).toBe(200);
  });

  test('can be a web page of an allowed origin, and of no other', async () => {
    const server = await startBridge([
      '--allow-origin',
      'https://app.example',
      '--api-key',
      'key-of-the-page',
      ...features,
    ]);
    const preflight = (origin: string): Promise<Response> =>
      fetch(server.url, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,mcp-protocol-version,mcp-param-city,x-api-key',
        },
      });
    const allowed = await preflight('https://app.example');
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const headers = allowed.headers.get('access-control-allow-headers')!.split(', ');
    const sent = [
      'content-type',
      'mcp-protocol-version',
      'mcp-session-id',
      'mcp-method',
      'mcp-param-city',
      'x-api-key',
    ];
    expect(headers).toEqual(expect.arrayContaining(sent));
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } };
    const opened = await fetch(server.url, {
      method: 'POST',
      headers: {
        origin: 'https://app.example',
        'x-api-key': 'key-of-the-page',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    expect(opened.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
    expect(opened.headers.get('mcp-session-id')).toBeTruthy();
    await opened.body?.cancel();
    const other = await preflight('https://evil.example');
    expect(other.status).toBe(403);
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe.skipIf(!canCertify)('with a certificate', () => {
  test('a bridge serves HTTPS to a client that trusts it', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'everwire-bridge-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const { cert, key } = certificate('bridge');
    const [certFile, keyFile] = ['cert.pem', 'key.pem'].map((file) => path.join(directory, file));
    writeFileSync(certFile!, cert);
    writeFileSync(keyFile!, key);
    const server = await startBridge(['--tls-cert', certFile!, '--tls-key', keyFile!, ...features]);
    expect(server.url).toMatch(/^https:/);
    const call = (env: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, [...programs.everwire, 'call', server.url, 'add', 'a=40', 'b=2'], {
        env: { ...process.env, ...env },
        encoding: 'utf8',
        timeout: 20_000,
      });
    expect(call({ NODE_EXTRA_CA_CERTS: certFile! }).stdout.trim()).toBe('42');
    expect(call({}).status).toBe(3);
  });

  test('a bridge without the file ends with an error that names it', async () => {
    const child = startEverwire(['bridge', '--tls-cert', 'no.pem', '--tls-key', 'no.key', ...features]);
    expect(await child.exited).toEqual({ code: 2, signal: null });
    expect(child.stderr.at(-1)).toMatch(
      /^everwire: --tls-cert or --tls-key: cannot read no\.(pem|key): there is no such file or folder$/,
    );
  });
});
