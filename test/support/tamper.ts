import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** From the client to the server, or back. */
export type Direction = 'up' | 'down';
/** How a connection ends: with an error at both sides, or as if the other side had closed it. */
export type End = 'is reset' | 'is closed';

interface Cut {
  readonly direction: Direction;
  readonly end: End;
  left: number;
}

/** A proxy that damages what passes through it, as the test says. */
export class Tamper {
  readonly origin: string;
  /** The bytes that have passed. */
  readonly passed = { up: 0, down: 0 };
  /** The number of connections that were opened. */
  connections = 0;
  /** Everything passes byte by byte. */
  slow = false;
  /** Whether a chunk is passed on to the server. If not, nothing more is read from the client. */
  reads: () => boolean = () => true;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #frozen = new Set<Socket>();
  #cut: Cut | undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** A proxy for a server on loopback. It is closed after the test. */
  static async before(address: string): Promise<Tamper> {
    const { hostname, port } = new URL(address);
    const server = createServer((near) => {
      tamper.connections += 1;
      const far = connect(Number(port), hostname);
      tamper.#join('up', near, far);
      tamper.#join('down', far, near);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const tamper = new Tamper(server);
    onTestFinished(() => tamper.stop());
    return tamper;
  }

  /** Closes all connections, and accepts no more. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Closes the connection after the given number of bytes in this direction. */
  cut(direction: Direction, after: number, end: End): void {
    this.#cut = { direction, end, left: after };
  }

  /** Stops cutting connections. */
  mend(): void {
    this.#cut = undefined;
  }

  /** The peers of all open connections disappear: nothing passes any more, and neither side is told. */
  freeze(): void {
    for (const socket of this.#sockets) {
      this.#frozen.add(socket);
      socket.pause();
    }
  }

  #join(direction: Direction, from: Socket, to: Socket): void {
    from.setNoDelay(true);
    this.#sockets.add(from);
    from.on('data', (chunk: Buffer) => this.#pass(direction, chunk, from, to));
    from.on('end', () => this.#frozen.has(from) || to.end());
    from.on('error', () => {});
    from.on('close', (failed) => {
      this.#sockets.delete(from);
      if (this.#frozen.has(from)) return;
      if (failed) to.resetAndDestroy();
      else to.destroySoon();
    });
  }

  #pass(direction: Direction, chunk: Buffer, from: Socket, to: Socket): void {
    if (direction === 'up' && !this.reads()) return void from.pause();
    const cut = this.#cut;
    if (!cut || cut.direction !== direction || chunk.length < cut.left) {
      if (cut?.direction === direction) cut.left -= chunk.length;
      this.passed[direction] += chunk.length;
      if (this.slow) return this.#trickle(chunk, from, to);
      to.write(chunk);
      return;
    }
    this.#cut = undefined;
    this.passed[direction] += cut.left;
    const end = (): void => {
      for (const socket of [from, to]) {
        if (cut.end === 'is reset') socket.resetAndDestroy();
        else socket.destroySoon();
      }
    };
    if (cut.left === 0) end();
    // So that earlier data is read first.
    else to.write(chunk.subarray(0, cut.left), () => setImmediate(end));
  }

  #trickle(chunk: Buffer, from: Socket, to: Socket): void {
    from.pause();
    let at = 0;
    const next = (): void => {
      if (at >= chunk.length) return void from.resume();
      to.write(chunk.subarray(at, ++at), () => setImmediate(next));
    };
    next();
  }
}
