import { programs, root } from '../support/process.ts';
import type { ClientKind, TransportKind } from './clients.ts';
import type { Peer } from './features.ts';
import { demo, everything } from './peers.ts';

/** How a published server is started. */
export interface PublishedServer {
  /** The npm package. */
  readonly name: string;
  readonly over: Exclude<TransportKind, 'memory'>;
  /**
   * The arguments of `node`. Servers over HTTP also find the port in the variable `PORT`.
   *
   * @param remote the URL of a server for programs that connect to one.
   */
  readonly args: (port: number, remote: string) => readonly string[];
  /** The path of its endpoint over HTTP. */
  readonly path?: string;
  /** Its features. Without them, its lists are requested, and some tools called. */
  readonly peer?: Peer;
  readonly clients: readonly ClientKind[];
}

const LEGACY: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];
const [everythingProgram] = programs.everything;
const installed = (file: string): string => `${root}node_modules/${file}`;
const SUPERGATEWAY = installed('supergateway/dist/index.js');

function reference(name: string, ...args: readonly string[]): PublishedServer {
  const file = installed(`@modelcontextprotocol/server-${name}/dist/index.js`);
  return { name: `@modelcontextprotocol/server-${name}`, over: 'stdio', args: () => [file, ...args], clients: LEGACY };
}

/** Puts a program in front of server-everything over stdio. */
function supergateway(port: number, transport: string, ...options: readonly string[]): readonly string[] {
  const child = `"${process.execPath}" "${everythingProgram}" stdio`;
  const own = ['--outputTransport', transport, '--port', String(port), '--logLevel', 'none', ...options];
  return [SUPERGATEWAY, '--stdio', child, ...own];
}

function mcpProxy(port: number, server: string): readonly string[] {
  const program = installed('mcp-proxy/dist/bin/mcp-proxy.mjs');
  const own = ['--host', '127.0.0.1', '--port', String(port), '--server', server];
  return [program, ...own, '--', process.execPath, ...programs.everything];
}

/** Servers that other people have published, over all transports that they serve. */
export const PUBLISHED: readonly PublishedServer[] = [
  { ...reference('everything', 'stdio'), peer: everything },
  {
    ...reference('everything'),
    over: 'http',
    path: '/mcp',
    args: () => [everythingProgram, 'streamableHttp'],
    clients: ['sdk 1.x'],
  },
  {
    ...reference('everything'),
    over: 'sse',
    path: '/sse',
    args: () => [everythingProgram, 'sse'],
    clients: ['sdk 1.x'],
  },
  reference('filesystem', root),
  reference('memory'),
  reference('sequential-thinking'),
  {
    name: 'mcp-proxy',
    over: 'http',
    path: '/mcp',
    args: (port) => mcpProxy(port, 'stream'),
    peer: everything,
    clients: [...LEGACY, 'client 2.x modern'],
  },
  {
    name: 'mcp-proxy',
    over: 'sse',
    path: '/sse',
    args: (port) => mcpProxy(port, 'sse'),
    peer: everything,
    clients: LEGACY,
  },
  {
    name: 'supergateway',
    over: 'http',
    path: '/mcp',
    args: (port) => supergateway(port, 'streamableHttp', '--stateful'),
    peer: everything,
    clients: LEGACY,
  },
  {
    name: 'supergateway',
    over: 'sse',
    path: '/sse',
    args: (port) => supergateway(port, 'sse'),
    peer: everything,
    clients: LEGACY,
  },
  {
    name: 'supergateway',
    over: 'stdio',
    args: (_, remote) => [SUPERGATEWAY, '--streamableHttp', remote, '--logLevel', 'none'],
    peer: demo,
    clients: LEGACY,
  },
  {
    name: 'mcp-remote',
    over: 'stdio',
    args: (_, remote) => [installed('mcp-remote/dist/proxy.js'), remote, '--allow-http', '--silent'],
    peer: demo,
    clients: LEGACY,
  },
  {
    name: 'fastmcp',
    over: 'http',
    path: '/mcp',
    args: () => [`${root}dist/examples/moving/fastmcp/fastmcp.js`],
    clients: ['sdk 1.x'],
  },
  {
    name: '@antv/mcp-server-chart',
    over: 'stdio',
    args: () => [installed('@antv/mcp-server-chart/build/index.js')],
    clients: LEGACY,
  },
  {
    name: '@antv/mcp-server-chart',
    over: 'http',
    path: '/mcp',
    args: (port) => [
      installed('@antv/mcp-server-chart/build/index.js'),
      ...['--transport', 'streamable', '--host', '127.0.0.1', '--port', String(port)],
    ],
    clients: LEGACY,
  },
  {
    name: 'chrome-devtools-mcp',
    over: 'stdio',
    args: () => [installed('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'), '--no-usage-statistics'],
    clients: LEGACY,
  },
];
