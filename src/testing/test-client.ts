import type { Client } from '../client/client.ts';
import { connect } from '../client/connect.ts';
import type { ClientOptions } from '../client/options.ts';
import type { Message } from '../jsonrpc/message.ts';
import { stringify } from '../jsonrpc/stringify.ts';
import type { AuthInfo } from '../protocol/types.ts';
import { BaseTransport } from '../transport/base-transport.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { MessageExtra, Transport } from '../transport/transport.ts';
import { handlersFor, type Answers, type AskedQuestion } from './answers.ts';
import { Notifications } from './notifications.ts';

/** A server that can be tested: an `McpServer`, or the result of `createInbound`. */
export interface TestableServer {
  /** Serves one client over one connection. */
  connect(transport: Transport): Promise<void>;
}

/** The options of a client itself that are useful in tests. `logLevel` is `debug` by default. */
type OwnOptions = Pick<
  ClientOptions,
  | 'cache'
  | 'capabilities'
  | 'clientInfo'
  | 'eras'
  | 'logLevel'
  | 'maxTimeout'
  | 'middleware'
  | 'onerror'
  | 'revision'
  | 'sampling'
  | 'tasks'
  | 'timeout'
>;

/** Who calls the server, how its questions are answered, and the options of the client. */
export interface TestClientOptions extends OwnOptions, Partial<AuthInfo> {
  /** The answers to the server's questions. Default: the client cannot be asked. */
  answers?: Answers | undefined;
}

/** A client that records what the server sends. */
export type TestClient = Client & {
  /** The notifications: log messages, progress, changes of lists and resources. */
  readonly notifications: Notifications;
  /** The questions that the server asked, in order. */
  readonly questions: readonly AskedQuestion[];
};

/**
 * Connects a client to a server in memory. All messages pass through JSON, as on a wire. The client requests progress
 * for each call, log messages of every level, and changes of the lists.
 *
 * With a `principal`, each request comes from this caller with these `scopes`, as if an authenticator had accepted its
 * credential. Without one, the server sees a caller without a credential, whose scopes it does not check.
 *
 * @throws TypeError if there are scopes or other data of a credential without a principal; what `connect` throws.
 */
export async function testClient(server: TestableServer, options: TestClientOptions = {}): Promise<TestClient> {
  if (typeof server?.connect !== 'function')
    throw new TypeError('testClient needs a server with a connect method, such as an McpServer');
  const { answers = {}, principal, scopes, clientId, expiresAt, claims, middleware = [], ...rest } = options;
  const sender = senderFor({ principal, scopes, clientId, expiresAt, claims });
  const notifications = new Notifications();
  const questions: AskedQuestion[] = [];
  const [ours, theirs] = memoryTransportPair();
  await server.connect(new ServerEnd(theirs, sender));
  const client = await connect(ours, {
    logLevel: 'debug',
    ...rest,
    ...handlersFor(answers, (question) => void questions.push(question)),
    middleware: [...middleware, notifications.middleware],
    // Without a handler, a client of 2026-07-28 does not subscribe to changes.
    onchange: () => {},
  });
  return Object.assign(client, { notifications, questions });
}

/** What the transport of an authenticated caller says about each message. */
function senderFor({ principal, ...credential }: Partial<AuthInfo>): MessageExtra | undefined {
  const given = Object.entries(credential).filter(([, value]) => value !== undefined);
  if (principal === undefined) {
    if (given.length === 0) return undefined;
    throw new TypeError(`testClient: ${given[0]![0]} belongs to a credential. Set principal too`);
  }
  return { principal, auth: { scopes: [], ...Object.fromEntries(given), principal } };
}

/** The server's end of a connection in memory. */
class ServerEnd extends BaseTransport implements Transport {
  readonly #end: Transport;
  readonly #sender: MessageExtra | undefined;

  constructor(end: Transport, sender: MessageExtra | undefined) {
    super();
    this.#end = end;
    this.#sender = sender;
  }

  start(): Promise<void> {
    this.#end.onmessage = (message: Message) => this.callOnmessage(throughJson(message), this.#sender);
    this.#end.onclose = () => this.onclose?.();
    this.#end.onerror = (error) => this.report(error);
    return this.#end.start();
  }

  /** @throws TypeError (rejects) if the message cannot be written as JSON. */
  async send(message: Message): Promise<void> {
    await this.#end.send(throughJson(message));
  }

  close(): Promise<void> {
    return this.#end.close();
  }
}

function throughJson(message: Message): Message {
  return JSON.parse(stringify(message)) as Message;
}
