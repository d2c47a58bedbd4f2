import { onTestFinished } from 'vitest';
import type { Service } from '../../src/core/exchange.ts';
import { isRequest, type JsonObject, type Message } from '../../src/jsonrpc/message.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import type { Transport } from '../../src/transport/transport.ts';
import type { InboundOptions } from '../../src/wire/serve.ts';
import { serve } from '../../src/wire/serve.ts';
import { deferred, settled } from './service.ts';

/** One end of a connection, which the test plays. */
export class Peer {
  readonly transport: Transport;
  /** The messages that have arrived and were not removed yet. */
  readonly inbox: Message[] = [];
  closed = false;
  #changed = deferred();

  constructor(transport: Transport) {
    this.transport = transport;
    transport.onmessage = (message: Message) => {
      this.inbox.push(message);
      this.#change();
    };
    transport.onclose = () => {
      this.closed = true;
      this.#change();
    };
    onTestFinished(() => transport.close());
  }

  /** Sends messages together, then lets the other end work. */
  async send(...messages: object[]): Promise<void> {
    for (const message of messages) await this.transport.send({ jsonrpc: '2.0', ...message } as Message);
    await settled();
  }

  /** Returns and removes all messages. */
  take(): Message[] {
    return this.inbox.splice(0);
  }

  /** Returns and removes the oldest message, which must exist. */
  next(): any {
    const message = this.inbox.shift();
    if (message === undefined) throw new Error('nothing has come');
    return message;
  }

  /** Sends a request and returns its response. On a busy machine, it comes in a later turn of the event loop. */
  async request(id: string | number, method: string, params?: JsonObject): Promise<any> {
    await this.send({ id, method, params });
    for (;;) {
      const index = this.inbox.findIndex((message) => !isRequest(message) && 'id' in message && message.id === id);
      if (index >= 0) return this.inbox.splice(index, 1)[0];
      if (this.closed) throw new Error(`no answer to ${method}: ${JSON.stringify(this.inbox)}`);
      await this.#changed.promise;
    }
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }
}

export const hello = (protocolVersion: unknown = '2025-11-25', capabilities: unknown = {}): JsonObject => ({
  protocolVersion,
  capabilities,
  clientInfo: { name: 'test', version: '1' },
});

/** A client of a service, which the test plays. */
export async function served(
  service: Service,
  options: InboundOptions = {},
): Promise<{ client: Peer; errors: Error[] }> {
  const [near, far] = memoryTransportPair();
  const errors: Error[] = [];
  const client = new Peer(near);
  await near.start();
  await serve(service, far, { onerror: (error) => void errors.push(error), ...options });
  return { client, errors };
}

/** The same after its handshake. */
export async function opened(
  service: Service,
  {
    revision = '2025-11-25',
    capabilities = {},
    ...options
  }: InboundOptions & { revision?: string; capabilities?: JsonObject } = {},
): Promise<{ client: Peer; errors: Error[] }> {
  const connection = await served(service, options);
  await connection.client.request('init', 'initialize', hello(revision, capabilities));
  await connection.client.send({ method: 'notifications/initialized' });
  return connection;
}
