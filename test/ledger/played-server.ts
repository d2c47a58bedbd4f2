import { onTestFinished } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { connect } from '../../src/client/connect.ts';
import type { ClientOptions } from '../../src/client/options.ts';
import { isObject, type JsonObject, type Message } from '../../src/jsonrpc/message.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { MODERN } from '../support/modern.ts';

/** Answers a request: with a result, an error in `error`, or not at all. */
export type HandAnswer = (request: any, server: PlayedServer) => JsonObject | undefined;

export const DESCRIBED: JsonObject = {
  supportedVersions: [MODERN],
  capabilities: { tools: { listChanged: true }, prompts: {}, resources: {}, completions: {} },
};

/** The default response to each method. */
const USUAL: Readonly<Record<string, JsonObject>> = {
  'server/discover': DESCRIBED,
  'tools/list': { tools: [] },
  'tools/call': { content: [] },
  'prompts/list': { prompts: [] },
  'prompts/get': { messages: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [] },
  'completion/complete': { completion: { values: [] } },
  'tasks/get': { taskId: 't', status: 'working' },
};

/** A server of 2026-07-28 on its own connection, played by the test. It records all messages. */
export class PlayedServer {
  readonly came: any[] = [];
  readonly #answers: Readonly<Record<string, HandAnswer>>;
  #far!: Transport;

  constructor(answers: Readonly<Record<string, HandAnswer>> = {}) {
    this.#answers = answers;
  }

  /** A new connection, in place of the previous one. */
  readonly open = (): Transport => {
    const [near, far] = memoryTransportPair();
    this.#far = far;
    far.onmessage = (message) => this.#take(message);
    void far.start();
    return near;
  };

  /** The messages of the given method. */
  of(method: string): any[] {
    return this.came.filter((message) => message.method === method);
  }

  async send(...messages: object[]): Promise<void> {
    for (const message of messages) await this.#far.send({ jsonrpc: '2.0', ...message } as Message);
  }

  /** Closes the connection. */
  async lose(): Promise<void> {
    await this.#far.close();
  }

  /** The acknowledgement of a subscription. */
  acknowledge(id: unknown, notifications: JsonObject): Promise<void> {
    const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications };
    return this.send({ method: 'notifications/subscriptions/acknowledged', params });
  }

  #take(message: any): void {
    this.came.push(message);
    if (message.id === undefined || typeof message.method !== 'string') return;
    const given = this.#answers[message.method];
    if (!given && message.method === 'subscriptions/listen') {
      void this.acknowledge(message.id, message.params.notifications);
      return;
    }
    const answer = given ? given(message, this) : (USUAL[message.method] ?? {});
    if (answer === undefined) return;
    const error = isObject(answer['error']) ? answer['error'] : undefined;
    void this.send({ id: message.id, ...(error ? { error } : { result: answer }) });
  }
}

/** A client of such a server, which adds its errors to `errors`. It is closed after the test. */
export async function clientOf(
  server: PlayedServer,
  options: ClientOptions = {},
): Promise<{ client: Client; errors: string[] }> {
  const errors: string[] = [];
  const client = await connect(server.open, { onerror: ({ message }) => void errors.push(message), ...options });
  onTestFinished(() => client.close());
  return { client, errors };
}
