import { createServer } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { startLoginServer } from '../cli/login-server.ts';
import { canCertify, certificate } from '../support/certificate.ts';
import { startEverwire, temporaryFolder } from '../support/command-line.ts';
import { programs, root } from '../support/process.ts';
import { listening, proxyTo } from '../support/proxy.ts';

/** A server that only the proxy can find. @returns the proxy. */
async function behindProxy(scheme: string): Promise<{ readonly asked: string[]; readonly url: string }> {
  const server = new McpServer({ name: 'far', version: '1.0.0', http: { allowedHosts: ['mcp.test'] } });
  onTestFinished(() => server.close());
  server.tool('count', {}, async (_, context) => {
    for (let n = 1; n <= 3; n += 1) await context.progress(n, 3);
    server.tool('more', {}, () => 'more');
    return 'counted';
  });
  const http = scheme === 'https' ? createHttps(certificate('far'), server.node) : createServer(server.node);
  const { asked, port } = await proxyTo(await listening(http));
  return { asked, url: `http://127.0.0.1:${port}` };
}

describe.each(['http', 'https'])('through a proxy, a server at an %s URL', (scheme) => {
  test.runIf(scheme === 'http' || canCertify).each(['2025-11-25', '2026-07-28'] as const)(
    'sends its answers, progress and changes to a client of %s',
    async (revision) => {
      // The certificate is for loopback.
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      onTestFinished(() => void vi.unstubAllEnvs());
      const proxy = await behindProxy(scheme);
      const changes: unknown[] = [];
      const onchange = (change: unknown): void => void changes.push(change);
      const client = await connect(`${scheme}://mcp.test/mcp`, { proxy: proxy.url, revision, onchange });
      onTestFinished(() => client.close());
      const steps: number[] = [];
      const { content } = await client.callTool('count', {}, { onprogress: ({ progress }) => steps.push(progress) });
      expect(content).toMatchObject([{ text: 'counted' }]);
      expect(steps).toEqual([1, 2, 3]);
      await expect.poll(() => changes).toEqual([{ type: 'tools' }]);
      const place = scheme === 'http' ? /^(POST|GET) http:\/\/mcp\.test\/mcp$/ : /^CONNECT mcp\.test:443$/;
      expect(proxy.asked.length).toBeGreaterThan(0);
      for (const line of proxy.asked) expect(line).toMatch(place);
    },
  );
});

test.runIf(canCertify)('a login, the client commands and a bridge use the proxy of the environment', async () => {
  const far = new McpServer({ name: 'far', version: '1.0.0', http: { allowedHosts: ['mcp.test'] } });
  far.tool('hello', {}, () => 'Hello from afar.');
  const server = await startLoginServer({ host: 'mcp.test', server: far, ...certificate('mcp') });
  onTestFinished(async () => {
    server.close();
    await far.close();
  });
  const proxy = await proxyTo(server.port);
  const address = `http://ada:the-password-of-ada@127.0.0.1:${proxy.port}`;
  const env = { https_proxy: address, NODE_TLS_REJECT_UNAUTHORIZED: '0', XDG_DATA_HOME: temporaryFolder() };

  const login = startEverwire(['login', server.url, '--no-open'], env);
  const [shown] = await login.line(/^https:\/\/mcp\.test\/authorize.*$/);
  const { searchParams: asked } = new URL(shown);
  await fetch(`${asked.get('redirect_uri')}?code=the-code&state=${asked.get('state')}`);
  expect((await login.exited).code).toBe(0);

  const call = startEverwire(['call', server.url, 'hello', '--no-login'], env);
  expect(await call.exited).toMatchObject({ code: 0 });
  expect(call.stdout).toEqual(['Hello from afar.']);

  const client = new Client({ name: 'desktop', version: '1.0.0' });
  onTestFinished(() => client.close());
  const args = [...programs.everwire, 'bridge', '--stdio', server.url, '--no-login'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: root }));
  expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ text: 'Hello from afar.' }] });

  expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT mcp.test:443']));
  const said = [login.stdout, login.stderr, call.stdout, call.stderr].flat().join();
  expect(said).not.toContain('password');
});
