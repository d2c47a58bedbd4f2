import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canCertify, certificate } from '../../test/support/certificate.ts';
import { Capture } from '../inspect/capture.ts';
import type { ConnectCommand, ConnectionState } from '../inspect/page-server/page-api.ts';
import { Inspector, type InspectorOptions } from './inspector.ts';
import { explain } from './problem.ts';

/** Serves until the test ends. Resolves with the port. */
async function serve(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    if ('closeAllConnections' in server) (server as ReturnType<typeof createServer>).closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const http = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await serve(createServer(listener))}/mcp`;

/** Answers every request with this status. */
const status = (code: number, headers: Record<string, string> = {}): Promise<string> =>
  http((_request, response) => response.writeHead(code, headers).end('no'));

/** The state when connecting is over. */
async function outcome(to: ConnectCommand, options: Partial<InspectorOptions> = {}): Promise<ConnectionState> {
  const inspector = new Inspector({ capture: new Capture(), choices: [], connectTimeout: 2000, ...options });
  onTestFinished(() => inspector.close());
  inspector.connect(to);
  for await (const { connection } of inspector.feed.states(new AbortController().signal))
    if (connection.status !== 'connecting' && (connection.status !== 'closed' || connection.problem)) return connection;
  throw new Error('the states have ended');
}

/** The state after this program was started as a server. */
const command = (code: string, name = process.execPath): Promise<ConnectionState> =>
  outcome(
    { choice: 'x' },
    {
      choices: [
        {
          ...{ id: 'x', name: 'x', source: 'test', detail: '' },
          server: { kind: 'command', target: { command: name, args: ['-e', code], stopTimeout: 100 } },
        },
      ],
    },
  );

const text = ({ problem }: ConnectionState): string => `${problem?.message} ${problem?.advice}`;

describe('connecting fails with its step and its cause', () => {
  test('dns', async () => {
    const state = await outcome({ url: 'http://nothing.invalid/mcp' });
    expect(state.problem).toMatchObject({ step: 'dns', message: 'The host name nothing.invalid was not found.' });
    // The problem says why, and the page shows it above.
    expect(state.attempts).toEqual([{ what: 'connect to nothing.invalid', outcome: 'failed' }]);
  });

  test('connect, if the port is closed', async () => {
    const server = createServer();
    const port = await serve(server);
    server.close();
    const { problem } = await outcome({ url: `http://127.0.0.1:${port}/` });
    expect(problem).toMatchObject({ step: 'connect', message: `127.0.0.1:${port} refused the connection.` });
  });

  test.runIf(canCertify)('tls, with the certificate and what to do if its issuer is unknown', async () => {
    const port = await serve(createHttpsServer(certificate('Unknown Issuer')));
    const { problem } = await outcome({ url: `https://localhost:${port}/mcp` });
    expect(problem).toMatchObject({
      step: 'tls',
      // Node 24 adds advice of its own.
      message: expect.stringMatching(
        /^The certificate of localhost:\d+ is refused: self-signed certificate(?:; if [^(]+)? \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. The certificate of Unknown Issuer for DNS:localhost, IP Address:127\.0\.0\.1 is signed by itself and valid until .*\d{4} GMT\.$/,
      ) as string,
      advice: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string,
    });
  });

  test('tls, if the port speaks none', async () => {
    const port = await serve(createServer());
    const { problem } = await outcome({ url: `https://127.0.0.1:${port}/` });
    expect(problem).toMatchObject({ step: 'tls', advice: expect.stringContaining('use http://') as string });
  });

  test('login, with where the server says how', async () => {
    const url = await status(401, { 'www-authenticate': 'Bearer resource_metadata="https://example.com/meta"' });
    const state = await outcome({ url, headers: { authorization: 'Bearer wrong' } });
    expect(state.problem).toMatchObject({ step: 'login' });
    expect(text(state)).toContain('status 401');
    expect(text(state)).toContain('https://example.com/meta');
    expect(state.attempts).toMatchObject([
      { what: 'POST server/discover, 2026-07-28', outcome: 'failed', detail: '401 Unauthorized' },
    ]);
  });

  test('login, with the 401 if the login failed too', async () => {
    const failed = Object.assign(new Error('no registration'), { name: 'OAuthError' });
    const problem = await explain(failed, { url: new URL('http://127.0.0.1/mcp') });
    expect(problem).toMatchObject({ step: 'login', message: 'no registration' });
    expect(problem.advice).toContain('The server answered 401, and the login failed.');
  });

  test('http, after all ways to connect were tried in order', async () => {
    const state = await outcome({ url: await status(404) });
    expect(state.problem).toMatchObject({ step: 'http', advice: expect.stringContaining('path of the URL') as string });
    expect(state.attempts).toMatchObject([
      { what: 'POST server/discover, 2026-07-28', outcome: 'failed', detail: '404 Not Found' },
      { what: 'POST initialize, 2025-11-25', outcome: 'failed', detail: '404 Not Found' },
      { what: 'GET', outcome: 'failed', detail: '404 Not Found' },
    ]);
  });

  test('http, if the server is broken or is no MCP server', async () => {
    expect((await outcome({ url: await status(500) })).problem).toMatchObject({ step: 'http' });
    const page = await outcome({ url: await status(200, { 'content-type': 'text/html' }) });
    expect(page.problem).toMatchObject({ step: 'http', message: expect.stringContaining('text/html') as string });
  });

  test('revision, if the server speaks another one than the only one to use', async () => {
    const url = await http((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        const { id } = JSON.parse(body || '{}') as { id?: number };
        const result = { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    const { status: state, problem } = await outcome({ url, revision: '2025-11-25' });
    expect(state).toBe('failed');
    expect(problem).toMatchObject({
      step: 'revision',
      message: 'The server speaks 2024-11-05, and not 2025-11-25',
    });
  });

  test('silence, of a URL and of a command', async () => {
    const state = await outcome({ url: await http(() => {}) });
    expect(state.problem).toMatchObject({ step: 'silence' });
    expect(state.attempts).toMatchObject([{ outcome: 'failed', detail: 'no answer' }]);
    expect((await command('setInterval(() => {}, 1000)')).problem).toMatchObject({ step: 'silence' });
  });

  test('command, if it does not exist', async () => {
    const { problem, attempts } = await command('', 'no-such-program');
    expect(problem).toMatchObject({
      step: 'command',
      message: 'Cannot start no-such-program: command not found in any folder of PATH.',
    });
    expect(attempts).toEqual([{ what: 'start no-such-program', outcome: 'failed' }]);
  });

  test('command, with its exit code and the last lines of stderr', async () => {
    const state = await command('console.error("reading");console.error("Error: no key");process.exit(7)');
    expect(state.problem).toMatchObject({
      step: 'command',
      message: expect.stringMatching(/ exited with code 7\.$/) as string,
    });
    expect(state.problem?.advice).toContain('reading\nError: no key');
    // A server that exits at once is started again, with a handshake first.
    expect(state.stderr).toEqual(['reading', 'Error: no key', 'reading', 'Error: no key']);
    expect(state.attempts.map(({ what, outcome: end }) => [what, end])).toEqual([
      ['server/discover, 2026-07-28', 'failed'],
      ['initialize, 2025-11-25', 'failed'],
    ]);
  });

  test('output, already while the command is given time to answer', async () => {
    const script = 'console.log("Starting");setInterval(() => {}, 1000)';
    const target = { command: process.execPath, args: ['-e', script], stopTimeout: 100 };
    const choice = { id: 'x', name: 'x', source: 'test', detail: '', server: { kind: 'command', target } } as const;
    const inspector = new Inspector({ capture: new Capture(), choices: [choice] });
    onTestFinished(() => inspector.close());
    inspector.connect({ choice: 'x' });
    for await (const { connection } of inspector.feed.states(new AbortController().signal)) {
      expect(connection.status).toBe('connecting');
      if (connection.problem?.message.endsWith('not a message: Starting')) break;
    }
  });

  test('no longer, when a command connects that first wrote something else', async () => {
    const answer = '{jsonrpc:"2.0",id:JSON.parse(line).id,error:{code:-32601,message:"no"}}';
    const hello =
      '{jsonrpc:"2.0",id:JSON.parse(line).id,result:{protocolVersion:"2025-11-25",capabilities:{},serverInfo:{name:"x",version:"1"}}}';
    const state = await command(`console.log("Starting");require("readline").createInterface(process.stdin).on("line",
      (line) => JSON.parse(line).id !== undefined &&
        console.log(JSON.stringify(line.includes('"initialize"') ? ${hello} : ${answer})))`);
    expect(state).toMatchObject({ status: 'connected', problem: undefined });
  });

  test('output, with the line that is not a message, escaped', async () => {
    const state = await command('console.log("Starting \\u001b[31mup");setInterval(() => {}, 1000)');
    expect(state.problem).toMatchObject({
      step: 'output',
      message: String.raw`The command wrote a line to stdout that is not a message: Starting \u001b[31mup`,
    });
  });
});
