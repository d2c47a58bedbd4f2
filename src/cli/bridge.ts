import { basename, extname } from 'node:path';
import { createBridge, type Bridge } from '../bridge/bridge.ts';
import type { Service } from '../core/exchange.ts';
import { Method } from '../protocol/methods.ts';
import { childTransport } from '../transport/stdio/child.ts';
import type { ServeFlags } from './options.ts';
import { run, servable } from './run.ts';
import { say } from './say.ts';
import { atEnd, stop } from './shutdown.ts';

export interface BridgeFlags extends ServeFlags {
  shared?: boolean;
  handshakeTimeout: number;
}

/** `everwire bridge`: a stdio server, offered over HTTP, or over stdio again. */
export async function bridge(command: string, args: string[], flags: BridgeFlags): Promise<void> {
  const bridged = createBridge({
    shared: flags.shared ?? false,
    handshakeTimeout: flags.handshakeTimeout * 1000,
    open: () => childTransport({ command, args, onstderr: (line) => process.stderr.write(`${line}\n`) }),
    onerror: (error) => say(error.message),
  });
  atEnd(() => bridged.close());
  const problem = (error: Error): string => `${basename(command)} did not start as an MCP server: ${error.message}`;
  if (flags.stdio) return run('bridge', servable(stoppingWith(bridged, problem)), flags);
  try {
    // A command that cannot work should be known before the first client comes.
    await bridged.check();
  } catch (error) {
    throw new Error(problem(error as Error), { cause: error });
  }
  return run(nameOf(command, args), servable(bridged.service), flags);
}

/** Over stdio there is one session, and one server: where that does not start, there is nothing to serve. */
function stoppingWith(bridged: Bridge, problem: (error: Error) => string): Service {
  return async (exchange) => {
    try {
      return await bridged.service(exchange);
    } catch (error) {
      if (exchange.method === Method.Discover) {
        say(problem(error as Error));
        process.exitCode = 1;
        // The client gets its answer first.
        setImmediate(() => void stop());
      }
      throw error;
    }
  };
}

const RUNNERS = new Set(['npx', 'bunx', 'pnpx', 'uvx', 'node', 'bun', 'deno', 'python', 'python3', 'sh', 'bash']);

/** What a client may call the server: by its package or script, not by what runs it. */
export function nameOf(command: string, args: readonly string[]): string {
  const runner = basename(command, extname(command));
  const target = RUNNERS.has(runner) ? args.find((arg) => !arg.startsWith('-')) : undefined;
  const name = basename(target ?? command).replace(/(?<=.)@.*$/, '');
  return name.slice(0, name.length - extname(name).length) || runner;
}
