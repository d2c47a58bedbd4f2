import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { connect, createServer as createNetServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';
import { McpServer } from '../../../src/server/index.ts';
import { eventually, programs, root, startProgram } from '../../support/process.ts';

/** A command line of a page, or an entry of a host's configuration. */
export interface PageCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** An example of a page: the command of the other program, and the one that replaces it. */
export interface Example {
  readonly before: PageCommand;
  readonly after: PageCommand;
}

export function readPage(page: string): string {
  return readFileSync(`${root}docs/moving/${page}`, 'utf8');
}

/**
 * The examples of a page: its `sh` and `json` blocks, which are in pairs.
 *
 * @throws Error if a pair does not begin with the other program and end with Everwire
 */
export function examplesOn(page: string, program: string): Example[] {
  const blocks = Array.from(readPage(page).matchAll(/^```(sh|json)\n([\s\S]*?)^```/gm), ([, kind, text]) =>
    kind === 'sh' ? { command: 'sh', args: ['-c', text!], env: {} } : entryOf(text!),
  );
  return Array.from({ length: Math.ceil(blocks.length / 2) }, (_, index) => {
    const [before, after] = blocks.slice(2 * index);
    if (!before?.args.join(' ').includes(program) || !after?.args.join(' ').includes('everwire bridge'))
      throw new Error(`pair ${index + 1} of ${page} is not a command of ${program} and one of Everwire`);
    return { before, after };
  });
}

function entryOf(text: string): PageCommand {
  const { command, args, env = {} } = JSON.parse(text).mcpServers.remote;
  return { command, args, env };
}

/** The options in the first column of the tables of a page that name a version of the other program. */
export function optionsOn(page: string): string[] {
  const [, table = ''] = /^These are all options of[^]*?\n\n(\|[^]*?)\n\n/m.exec(readPage(page)) ?? [];
  return table
    .split('\n')
    .slice(2)
    .flatMap((row) => Array.from(row.split('|')[1]!.matchAll(/`(--[\w-]+)`/g), ([, option]) => option!))
    .toSorted();
}

/** A folder with an `npx` that starts the programs of this checkout. */
export function startersFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-moving-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = `${root}node_modules/.bin`;
  mkdirSync(`${folder}/bin`);
  writeFileSync(
    `${folder}/bin/npx`,
    `#!/bin/sh
[ "$1" = -y ] && shift
name=$1
shift
case $name in
everwire) exec '${process.execPath}' '${programs.everwire[0]}' "$@" ;;
@modelcontextprotocol/server-*) exec '${bin}/mcp-'"\${name#*/}" "$@" ;;
*) exec '${bin}/'"$name" "$@" ;;
esac
`,
    { mode: 0o755 },
  );
  return folder;
}

/** A server at a URL with both transports, and the `Authorization` headers that it got. It ends after the test. */
export async function remoteServer() {
  const authorization = new Set<IncomingHttpHeaders['authorization']>();
  const server = new McpServer({ name: 'remote', version: '1.0.0', http: { path: '/mcp', ssePath: '/sse' } });
  const input = { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] } as const;
  server.tool('echo', { input }, ({ message }) => `Echo: ${message}`);
  server.tool('delete_all', {}, () => 'Deleted');
  const http = createServer((request, response) => {
    authorization.add(request.headers.authorization);
    server.node(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await server.close(0);
    http.closeAllConnections();
    http.close();
  });
  return { origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, authorization };
}

/** What a client sees through a command of a page. */
export interface Seen {
  readonly tools: readonly string[];
  readonly echo: unknown;
  readonly authorization: readonly (string | undefined)[];
}

/**
 * Runs a command of a page, and connects the official client to it.
 *
 * @param at the path of the endpoint, if the command listens; undefined if it serves stdio
 */
export async function seenThrough(page: PageCommand, at?: string, headers: Record<string, string> = {}): Promise<Seen> {
  const folder = startersFolder();
  const remote = await remoteServer();
  const port = await freePort();
  const args = page.args.map((word) =>
    word.replaceAll('https://mcp.example.com', remote.origin).replaceAll(/--port \d+/g, `--port ${port}`),
  );
  const env = {
    ...(process.env as Record<string, string>),
    PATH: `${folder}/bin:${process.env['PATH']}`,
    HOME: folder,
    XDG_DATA_HOME: folder,
    ...page.env,
  };
  const client = new Client({ name: 'reader', version: '1.0.0' });
  onTestFinished(() => client.close());
  if (at === undefined) {
    await client.connect(new StdioClientTransport({ command: page.command, args, env, stderr: 'ignore' }));
  } else {
    const program = startProgram(page.command, args, env);
    onTestFinished(async () => void (await program.stop()));
    await eventually(() => accepts(port), `something listens on ${port}: ${program.stderr.join('\n')}`);
    const url = new URL(at, `http://127.0.0.1:${port}`);
    const requestInit = { headers };
    const transport =
      at === '/sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url, { requestInit });
    await client.connect(transport);
  }
  const { tools } = await client.listTools();
  const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  return { tools: tools.map(({ name }) => name).toSorted(), echo: content, authorization: [...remote.authorization] };
}

/** A port for a program that cannot say which one it got. */
export async function freePort(): Promise<number> {
  const server = createNetServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether something listens on a port. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
