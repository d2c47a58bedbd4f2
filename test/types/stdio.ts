import { PassThrough } from 'node:stream';
import {
  childTransport,
  stdioServerTransport,
  streamTransport,
  type ChildExit,
  type ChildTransport,
  type StreamTransport,
} from 'everwire/stdio';
import type { Transport } from 'everwire';

const child: ChildTransport = childTransport({ command: 'node', args: ['server.js'], cwd: undefined });
const stream: StreamTransport = streamTransport(new PassThrough(), new PassThrough(), { role: 'server' });
export const transports: readonly Transport[] = [child, stream, stdioServerTransport()];
export const exit: ChildExit | undefined = child.exit;
