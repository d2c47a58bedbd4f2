import type { Server } from 'node:net';
import { bindProblem } from './bind-problem.ts';

/**
 * Lets a server listen.
 *
 * @param onerror gets what later keeps it from accepting a connection, such as a missing file descriptor.
 * @returns the port in use.
 * @throws Error with a readable message if the address cannot be used.
 */
export function bind(server: Server, host: string, port: number, onerror: (error: Error) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => reject(new Error(bindProblem(cause, host, port), { cause }));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      // Without a listener, an error would end the process.
      server.on('error', onerror);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}
