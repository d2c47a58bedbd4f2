import { onTestFinished, vi } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { connect } from '../../src/client/connect.ts';
import type { ClientOptions } from '../../src/client/options.ts';
import type { JsonObject, Message } from '../../src/jsonrpc/message.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { Peer } from './wire.ts';

/** What a server answers to `initialize`. */
export const welcome = (capabilities: JsonObject = {}, protocolVersion = '2025-11-25'): JsonObject => ({
  protocolVersion,
  capabilities,
  serverInfo: { name: 'by-hand', version: '1' },
});

/** Everything that servers of 2025-11-25 can declare, but tasks. */
export const everything: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};

/** A server of a handshake revision, spoken by hand. */
export class LegacyServer extends Peer {
  /** Takes the oldest message, when it has come. */
  async heard(): Promise<any> {
    await vi.waitUntil(() => this.inbox.length > 0, { interval: 1, timeout: 5000 });
    return this.next();
  }

  /** Takes the oldest message, a request, and answers it. */
  async answer(result: JsonObject = {}): Promise<any> {
    const asked = await this.heard();
    await this.send({ id: asked.id, result });
    return asked;
  }

  /** Whether the client is there and has had its turn: what it had to say to all before has come. */
  async pinged(): Promise<Message[]> {
    const id = `ping ${Math.random()}`;
    await this.send({ id, method: 'ping' });
    const isAnswer = (message: Message): boolean => !('method' in message) && message.id === id;
    await vi.waitUntil(() => this.inbox.some(isAnswer), { interval: 1, timeout: 5000 });
    return this.take().filter((message) => !isAnswer(message));
  }
}

export interface Calling {
  readonly client: Client;
  /** The server of the newest connection. */
  readonly server: LegacyServer;
  /** What no caller was told of. */
  readonly errors: Error[];
}

/** What a client connects to, and the servers at the other ends, the newest last. */
export function place(): { open: () => Peer['transport']; servers: LegacyServer[] } {
  const servers: LegacyServer[] = [];
  const open = (): Peer['transport'] => {
    const [near, far] = memoryTransportPair();
    servers.push(new LegacyServer(far));
    void far.start();
    return near;
  };
  return { open, servers };
}

/** A client behind its handshake with a server that is spoken by hand, and that has taken `notifications/initialized`. */
export async function calling(
  options: ClientOptions = {},
  capabilities: JsonObject = everything,
  revision = '2025-11-25',
): Promise<Calling> {
  const { open, servers } = place();
  const errors: Error[] = [];
  const connecting = connect(open(), { eras: 'legacy', onerror: (error) => void errors.push(error), ...options });
  const server = servers[0]!;
  await server.answer(welcome(capabilities, revision));
  await server.heard();
  const client = await connecting;
  onTestFinished(() => client.close());
  return { client, server, errors };
}
