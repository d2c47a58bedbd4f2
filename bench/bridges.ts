import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { HttpConnection } from './http-connection.ts';
import { HttpSession } from './http-session.ts';
import { peerScript, startPeer, startProgram, stop, type HttpPeer } from './processes.ts';

/** The throughput of bridges, for each pair of eras and for each program that can bridge them. */
export interface Cell {
  readonly name: string;
  /** The era of the client. */
  readonly downstream: 'legacy' | 'modern';
  readonly bridges: Readonly<Record<string, () => Promise<HttpPeer>>>;
}

const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

/** Starts each bridge in front of a child. */
export const bridges = {
  bare: (child) => () => startPeer('bare-bridge', child),
  everwire: (child) => () =>
    startProgram('everwire', binOf('.', 'everwire'), (port) => ['bridge', '--port', `${port}`, '--', ...child]),
  'mcp-proxy': (child) => () => {
    const script = binOf('node_modules/mcp-proxy', 'mcp-proxy');
    return startProgram('mcp-proxy', script, (port) => ['--host', '127.0.0.1', '--port', `${port}`, '--', ...child]);
  },
  supergateway: (child) => () => {
    const command = child.map((part) => JSON.stringify(part)).join(' ');
    const output = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none'];
    return startProgram('supergateway', binOf('node_modules/supergateway', 'supergateway'), (port) => [
      ...['--stdio', command, ...output],
      ...['--port', `${port}`],
    ]);
  },
} satisfies Record<string, (child: readonly string[]) => () => Promise<HttpPeer>>;

/** From HTTP to stdio: each era on each side. Programs that speak one era only are in the cell of that era. */
export function cells(): Cell[] {
  const children = {
    '2025-11-25': [process.execPath, peerScript('bare-stdio')],
    '2026-07-28': [process.execPath, peerScript('bare-modern-stdio')],
  };
  return REVISIONS.flatMap((from) =>
    REVISIONS.map((to): Cell => {
      const child = children[to];
      const both = { bare: bridges.bare(child), everwire: bridges.everwire(child) };
      const old = { 'mcp-proxy': bridges['mcp-proxy'](child), supergateway: bridges.supergateway(child) };
      return {
        name: `bridge ${from} → ${to}`,
        downstream: from === '2025-11-25' ? 'legacy' : 'modern',
        bridges: from === '2025-11-25' && to === from ? { ...both, ...old } : both,
      };
    }),
  );
}

/** From HTTP to the same server at a URL, as it is and with everything that passes recorded or shown. */
export function observedBridges(url: string, file: string): Record<string, () => Promise<HttpPeer>> {
  const start = (options: readonly string[]) => (): Promise<HttpPeer> =>
    startProgram('everwire', binOf('.', 'everwire'), (port) => ['bridge', '--port', `${port}`, ...options, url]);
  return {
    everwire: start([]),
    'everwire --record': start(['--record', file]),
    'everwire --inspect': start(['--inspect', '--inspect-port', '0']),
  };
}

/** From stdio to HTTP: the command of each program, for a server at a URL. */
export function proxies(url: string): Record<string, readonly string[]> {
  return {
    bare: [peerScript('bare-proxy'), url],
    everwire: [binOf('.', 'everwire'), 'bridge', '--stdio', url],
    'mcp-remote': [binOf('node_modules/mcp-remote', 'mcp-remote'), url, '--transport', 'http-only', '--allow-http'],
  };
}

/** What a session costs a bridge that starts a child for each: bytes of its own memory, and the number of children. */
export interface SessionCost {
  readonly bytes: number;
  readonly children: number;
}

const SESSIONS = 50;

export async function sessionCosts(): Promise<Record<string, SessionCost>> {
  const { everwire, 'mcp-proxy': mcpProxy, supergateway } = bridges;
  const child = [process.execPath, peerScript('bare-stdio')];
  const costs: Record<string, SessionCost> = {};
  for (const [who, start] of Object.entries({ everwire, 'mcp-proxy': mcpProxy, supergateway })) {
    const { url, process: bridge } = await start(child)();
    try {
      const open = async (count: number): Promise<void> => {
        for (let n = 0; n < count; n++) {
          const connection = new HttpConnection(url);
          await HttpSession.open(url, connection);
          connection.close();
        }
      };
      // The first sessions also load code that all sessions share.
      await open(5);
      const [memory, children] = [residentBytes(bridge.pid!), descendants(bridge.pid!)];
      await open(SESSIONS);
      costs[who] = {
        bytes: (residentBytes(bridge.pid!) - memory) / SESSIONS,
        children: (descendants(bridge.pid!) - children) / SESSIONS,
      };
    } finally {
      await stop(bridge);
    }
  }
  return costs;
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN) * 1024;
}

/** The number of descendants of a process. */
function descendants(root: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // The process has ended in the meantime.
    }
  }
  const isOfRoot = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isOfRoot(parent));
  };
  return [...parents.keys()].filter(isOfRoot).length;
}

/** The path of the script behind a command of a package in this folder. */
function binOf(folder: string, command: string): string {
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  return path.resolve(folder, bin[command]!);
}
