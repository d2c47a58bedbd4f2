import { basename } from 'node:path';
import { createBridge } from '../bridge/bridge.ts';
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
  try {
    // A command that cannot work should be known before the first client comes.
    await bridged.check();
    await run(basename(command), bridged.service, flags, () => bridged.close());
  } catch (error) {
    await bridged.close();
    throw error;
  }
}
