import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'vitest';
import { transportSuite } from '../../testing/contracts/transport-suite.ts';
import { childTransport } from './child.ts';
import { streamTransport } from './stream.ts';

const RELAY = fileURLToPath(new URL('../../../test/fixtures/relay.mjs', import.meta.url));

async function listen(): Promise<{ server: Server; port: number; accepted: Promise<Socket> }> {
  const server = createServer({ allowHalfOpen: true });
  const accepted = new Promise<Socket>((resolve) => void server.once('connection', resolve));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as { port: number }).port, accepted };
}

describe('lines over in-memory streams follow the contract', () => {
  const suite = transportSuite(() => {
    const [up, down] = [new PassThrough(), new PassThrough()];
    return Promise.resolve({ a: streamTransport(down, up, { role: 'client' }), b: streamTransport(up, down) });
  });
  for (const { name, run } of suite) test(name, run);
});

describe('lines over TCP follow the contract', () => {
  const suite = transportSuite(async () => {
    const { server, port, accepted } = await listen();
    const near = connect({ port, host: '127.0.0.1' });
    const far = await accepted;
    return {
      a: streamTransport(near, near, { role: 'client' }),
      b: streamTransport(far, far),
      close: async () => {
        server.close();
        await once(server, 'close');
      },
    };
  });
  for (const { name, run } of suite) test(name, run);
});

describe('a child process follows the contract', () => {
  const suite = transportSuite(async () => {
    const { server, port, accepted } = await listen();
    const [up, down] = [new PassThrough(), new PassThrough()];
    void accepted.then((far) => {
      far.pipe(up);
      down.pipe(far);
      far.on('error', (error) => up.destroy(error));
    });
    return {
      a: childTransport({ command: process.execPath, args: [RELAY, String(port)] }),
      b: streamTransport(up, down),
      close: async () => {
        server.close();
        await once(server, 'close');
      },
    };
  });
  for (const { name, run } of suite) test(name, run);
});
