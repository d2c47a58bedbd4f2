import { onTestFinished, vi } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { connect } from '../../src/client/connect.ts';
import type { ClientOptions } from '../../src/client/options.ts';
import type { JsonObject, Message } from '../../src/jsonrpc/message.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { Peer } from './wire.ts';

/** The result of `initialize`. */
export const welcome = (capabilities: JsonObject = {}, protocolVersion = '2025-11-25'): JsonObject => ({
  protocolVersion,
  capabilities,
  serverInfo: { name: 'by-hand', version: '1' },
});

/** All capabilities of servers of 2025-11-25, except tasks. */
export const everything: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};

/** A server of a handshake revision that the test plays. */
export class LegacyServer extends Peer {
  /** Returns and removes the oldest message, when it has arrived. */
  async heard(): Promise<any> {
    await vi.waitUntil(() => this.inbox.length > 0, { interval: 1 });
    return this.next();
  }

  /** Removes the oldest message, a request, and answers it. */
  async answer(result: JsonObject = {}): Promise<any> {
    const asked = await this.heard();
    await this.send({ id: asked.id, result });
    return asked;
  }

  /** Resolves when the client has handled everything so far, and its messages have arrived. */
  async pinged(): Promise<Message[]> {
    const id = `ping ${Math.random()}`;
    await this.send({ id, method: 'ping' });
    const isAnswer = (message: Message): boolean => !('method' in message) && message.id === id;
    await vi.waitUntil(() => this.inbox.some(isAnswer), { interval: 1 });
    return this.take().filter((message) => !isAnswer(message));
  }
}

export interface Calling {
  readonly client: Client;
  /** The server of the newest connection. */
  readonly server: LegacyServer;
  /** The errors that no caller got. */
  readonly errors: Error[];
}

/** The target of a client, and the servers at the other ends, the newest last. */
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

/** A client after its handshake with a server that the test plays, which has removed `notifications/initialized`. */
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
