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
// If this throws, Node prints the error with its place in the file, and the process ends.
const exports: unknown = await import(pathToFileURL(file).href);
process.channel?.ref();
const server = candidatesIn(exports).find(isServer);
if (server) {
  const channels = new Channels(post, (transport) => {
    server.connect(transport).catch((error: unknown) => console.error(error));
  });
  process.on('message', (packet: Packet) => channels.receive(packet));
  await post({ ready: true });
} else {
  await post({ unusable: 'it must export an McpServer, as server or as default' });
}
