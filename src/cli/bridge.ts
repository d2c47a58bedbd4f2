import { basename } from 'node:path';
import { createBridge, type Bridge } from '../bridge/bridge.ts';
import type { Service } from '../core/exchange.ts';
import { Method } from '../protocol/methods.ts';
import { childTransport } from '../transport/stdio/child.ts';
import type { ServeFlags } from './options.ts';
import { run, say } from './run.ts';

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
  const problem = (error: Error): string => `${basename(command)} did not start as an MCP server: ${error.message}`;
  if (flags.stdio) return bridgeStdio(bridged, problem, flags);
  try {
    // A command that cannot work should be known before the first client comes.
    await bridged.check();
  } catch (error) {
    throw new Error(problem(error as Error), { cause: error });
  }
  try {
    await run(basename(command), bridged.service, flags, () => bridged.close());
  } catch (error) {
    await bridged.close();
    throw error;
  }
}

/** Over stdio there is one session, and one server: where that does not start, there is nothing to serve. */
async function bridgeStdio(bridged: Bridge, problem: (error: Error) => string, flags: BridgeFlags): Promise<void> {
  const service: Service = async (exchange) => {
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
  const stop = await run('bridge', service, flags, () => bridged.close());
}
