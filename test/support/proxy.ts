import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Starts a server on loopback. It is closed after the test. @returns its port. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A proxy in whose network every name leads to the same server, with a record of its requests. */
export async function proxyTo(port: number, status = 200) {
  const asked: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    headers.push(incoming.headers);
    if (status !== 200) {
      response.writeHead(status).end();
      return;
    }
    const { pathname } = new URL(incoming.url!);
    const { method, headers: sent } = incoming;
    incoming.pipe(
      request({ port, host: '127.0.0.1', path: pathname, method, headers: sent }, (reply) => {
        response.writeHead(reply.statusCode!, reply.headers);
        reply.pipe(response);
      }),
    );
  });
  server.on('connect', (incoming, socket) => {
    asked.push(`CONNECT ${incoming.url}`);
    headers.push(incoming.headers);
    socket.on('error', () => {});
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const far = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      far.pipe(socket).pipe(far);
    });
    far.on('error', () => socket.destroy());
    onTestFinished(() => {
      far.destroy();
      socket.destroy();
    });
  });
  return { asked, headers, port: await listening(server) };
}
