import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** What a proxy does to the connections of one process to Redis. */
export interface RedisFault {
  /** Milliseconds before each piece goes on, in both directions. */
  readonly delay?: number;
  /** Swallows what goes in this direction. Connections stay open. */
  readonly swallow?: 'commands' | 'replies' | 'both';
  /** Cuts each connection after this many more bytes of replies. */
  readonly cutAfter?: number;
}

/** A port in front of Redis, for one process. */
export class RedisProxy {
  readonly #target: number;
  readonly #server = createServer((near) => this.#pass(near));
  readonly #sockets = new Set<Socket>();
  #fault: RedisFault = {};

  private constructor(target: number) {
    this.#target = target;
  }

  static async start(target: number): Promise<RedisProxy> {
    const proxy = new RedisProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** @returns ends this fault. What was swallowed is lost, so its connections are cut then. */
  begin(fault: RedisFault): () => void {
    this.#fault = fault;
    return () => {
      if (this.#fault !== fault) return;
      this.#fault = {};
      if (fault.swallow) this.#cut();
    };
  }

  stop(): void {
    this.#cut();
    this.#server.close();
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #pass(near: Socket): void {
    const far = connect(this.#target, '127.0.0.1');
    this.#flow(near, far, 'commands');
    this.#flow(far, near, 'replies');
  }

  #flow(from: Socket, to: Socket, direction: 'commands' | 'replies'): void {
    const end = (): void => {
      from.destroy();
      to.destroy();
    };
    this.#sockets.add(from);
    from.on('error', end).on('close', () => {
      this.#sockets.delete(from);
      end();
    });
    let last: Promise<unknown> = Promise.resolve();
    let fault = this.#fault;
    let passed = 0;
    from.on('data', (chunk: Buffer) => {
      if (fault !== this.#fault) [fault, passed] = [this.#fault, 0];
      const { delay = 0, swallow, cutAfter = Number.POSITIVE_INFINITY } = fault;
      if (swallow === 'both' || swallow === direction) return;
      const rest = direction === 'replies' ? cutAfter - passed : Number.POSITIVE_INFINITY;
      passed += chunk.length;
      last = last.then(async () => {
        if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
        // The peer has an incomplete reply then.
        if (!to.destroyed) to.write(chunk.length > rest ? chunk.subarray(0, rest) : chunk);
        if (chunk.length > rest) to.end(end);
      });
    });
  }
}
