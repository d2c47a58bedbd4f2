import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isObject } from '../../jsonrpc/message.ts';
import type { Transport } from '../../transport/transport.ts';
import { DEV, type ChildMessage, type DevMessage } from './child-messages.ts';
import { Channels, type Packet } from './channels.ts';

/** The process in which `everwire dev` runs one version of the user's file. */

/** What the file must export. The file may import another copy of this package, so no class is compared. */
interface Connectable {
  connect(transport: Transport): Promise<void>;
}

function isServer(value: unknown): value is Connectable {
  return isObject(value) && typeof value['connect'] === 'function' && typeof value['service'] === 'function';
}

/** What may be the server. The default export of a CommonJS file is all that it exports. */
function candidatesIn(exported: unknown): unknown[] {
  if (!isObject(exported)) return [];
  const { server: named, default: main } = exported;
  return [named, main, ...(isObject(main) ? [main['server'], main['default']] : [])];
}

function post(content: DevMessage): Promise<void> {
  const message: ChildMessage = { [DEV]: content };
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => (error ? reject(error) : resolve()));
  });
}

// Without the process that started it, nobody can use this one.
process.once('disconnect', () => process.exit());
// While the file loads, the channel does not keep the process alive. So Node reports an await that never ends.
process.channel?.unref();
const [, , file = ''] = process.argv;
/** A compiler's error names the file and the line. The stack is of the compiler itself. */
function isOfCompiler(error: unknown): error is Error {
  return error instanceof Error && error.name === 'TransformError';
}

/** Why the file cannot be served. */
function problem(): string {
  const wanted = 'it must export an McpServer, as server or as default';
  if (!process.getActiveResourcesInfo().includes('TCPServerWrap')) return `${wanted}, and must not serve it itself`;
  const { dir, base, ext } = path.parse(file);
  const other = `server${ext}`;
  const example = base !== other && existsSync(path.join(dir, other)) ? path.relative('', path.join(dir, other)) : '';
  return `it started a listener of its own; pass the file that exports the server${example && `: ${example}`}`;
}

// If this throws, Node prints the error with its place in the file, and the process ends.
const exports: unknown = await import(pathToFileURL(file).href).catch((error: unknown) => {
  if (!isOfCompiler(error)) throw error;
  console.error(error.message);
  process.exit(1);
});
process.channel?.ref();
const server = candidatesIn(exports).find(isServer);
if (server) {
  const channels = new Channels(post, (transport) => {
    server.connect(transport).catch((error: unknown) => console.error(error));
  });
  process.on('message', (packet: Packet) => channels.receive(packet));
  await post({ ready: true });
} else {
  // A listener whose host is looked up starts in a later turn.
  await setImmediate();
  await post({ unusable: problem() });
}
