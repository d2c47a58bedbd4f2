import { connect as connectOurs, type LogMessage } from 'everwire/client';
import { connect as connectOfficial, type CallOptions, type ClientKind, type Target } from '../../interop/clients.ts';

type JsonObject = Record<string, any>;

/** How the user answers a form. `never` leaves it open. */
export type Answer = 'accept' | 'decline' | 'cancel' | 'never';

/** A client of either era, ours or an official one. */
export interface SoakClient {
  readonly kind: Kind;
  answer: Answer;
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<JsonObject>;
  listTools(): Promise<readonly JsonObject[]>;
  read(uri: string): Promise<JsonObject>;
  prompt(name: string, args: Record<string, string>): Promise<JsonObject>;
  complete(prompt: string, name: string, value: string): Promise<readonly string[]>;
  /** Subscribes to a resource. `heard` resolves when it has changed, `end` when the subscription has ended. */
  subscribe(uri: string): Promise<{ heard: () => Promise<void>; end: () => Promise<void> }>;
  /** Resolves when the server has sent this log message. */
  logged(data: string): Promise<void>;
  close(): Promise<void>;
}

export type Kind = ClientKind | 'ours legacy' | 'ours modern';
export const KINDS: readonly Kind[] = [
  'sdk 1.x',
  'ours legacy',
  'client 2.x legacy',
  'ours modern',
  'client 2.x modern',
  'ours legacy',
  'ours modern',
];

/** The number of uses after which a client is closed. */
const USES = 300;

let count = 0;

/** Connects a client with a unique name, so that a bridge does not take it for another client. */
export function connect(kind: Kind, url: string): Promise<SoakClient> {
  const info = { name: `soak-${(count += 1)}`, version: '1.0.0' };
  const target = { stdio: [], url, sseUrl: new URL('/sse', url).href };
  return kind === 'ours legacy' || kind === 'ours modern'
    ? ours(kind, url, info)
    : official(kind, 'http', target, info);
}

function answered(client: SoakClient): JsonObject | Promise<never> {
  const { answer } = client;
  if (answer === 'never') return new Promise(() => {});
  return answer === 'accept' ? { action: answer, content: { name: 'Ada' } } : { action: answer };
}

type Info = { name: string; version: string };

/** An official client, over any transport. */
export async function official(
  kind: ClientKind,
  transport: 'http' | 'sse',
  target: Target,
  info: Info = { name: 'soak', version: '1.0.0' },
): Promise<SoakClient> {
  const inner = await connectOfficial(kind, transport, target, { info });
  const { methods } = inner;
  const client: SoakClient = {
    kind,
    answer: 'accept',
    call: (name, args = {}, options) => inner.callTool({ name, arguments: args }, options),
    listTools: async () => (await methods.listTools())['tools'],
    read: (uri) => methods.readResource({ uri }),
    prompt: (name, args) => methods.getPrompt({ name, arguments: args }),
    complete: async (prompt, name, value) => {
      const ref = { type: 'ref/prompt', name: prompt };
      return (await methods.complete({ ref, argument: { name, value } }))['completion'].values;
    },
    subscribe: async (uri) => {
      const from = inner.notices.length;
      const end = await inner.subscribe(uri);
      const heard = async (): Promise<void> =>
        void (await inner.notice('notifications/resources/updated', (params) => params['uri'] === uri, from));
      return { heard, end };
    },
    logged: async (data) => {
      await inner.notice('notifications/message', (params) => params['data'] === data);
      inner.notices.length = 0;
    },
    close: () => inner.close(),
  };
  inner.answers.elicitation = () => answered(client);
  await inner.setLevel('info');
  return client;
}

async function ours(kind: 'ours legacy' | 'ours modern', url: string, clientInfo: Info): Promise<SoakClient> {
  const errors: Error[] = [];
  let logs: LogMessage[] = [];
  const inner = await connectOurs(url, {
    eras: kind === 'ours legacy' ? 'legacy' : 'modern',
    clientInfo,
    onelicit: () => answered(client) as never,
    onsample: () => ({ role: 'assistant', content: { type: 'text', text: 'a sampled text' }, model: 'test-model' }),
    onroots: () => [{ uri: 'file:///tmp/project', name: 'project' }],
    onlog: (message) => void logs.push(message),
    onerror: (error) => void errors.push(error),
  });
  const client: SoakClient = {
    kind,
    answer: 'accept',
    call: async (name, args, options) => {
      const result = await inner.callTool(name, args, options);
      if (errors.length > 0) throw new Error('the client reports an error', { cause: errors.pop() });
      return result;
    },
    listTools: () => inner.listTools({ fresh: true }),
    read: (uri) => inner.readResource(uri, { fresh: true }),
    prompt: (name, args) => inner.getPrompt(name, args),
    complete: async (name, argument, value) =>
      (await inner.complete({ type: 'ref/prompt', name }, { name: argument, value })).values,
    subscribe: async (uri) => {
      let hear!: () => void;
      const heard = new Promise<void>((resolve) => (hear = resolve));
      const subscription = await inner.subscribe(uri, hear);
      return { heard: () => heard, end: () => subscription.close() };
    },
    // The notification came before the result of its call.
    logged: async (wanted) => {
      const found = logs.some(({ data }) => data === wanted);
      logs = [];
      if (!found) throw new Error('the log message did not come');
    },
    close: () => inner.close(),
  };
  return client;
}

/** Clients of all kinds of one server. After some time, each one is replaced by another. */
export class Clients {
  readonly #url: string;
  readonly #kept: number;
  #idle: { readonly client: SoakClient; uses: number }[] = [];
  #next = 0;

  /** @param kept the most clients that wait for their next use. */
  constructor(url: string, kept: number) {
    this.#url = url;
    this.#kept = kept;
  }

  /** Takes a free client and runs something with it. */
  async use(run: (client: SoakClient) => Promise<void>): Promise<void> {
    const one = this.#idle.shift() ?? { client: await this.#connect(), uses: 0 };
    one.uses += 1;
    one.client.answer = 'accept';
    try {
      await run(one.client);
    } catch (error) {
      await one.client.close().catch(() => {});
      throw new Error(`${one.client.kind}, use ${one.uses}`, { cause: error });
    }
    if (one.uses < USES && this.#idle.length < this.#kept) this.#idle.push(one);
    else await one.client.close();
  }

  /** Connects a client, runs something with it, and closes it. */
  async once(run: (client: SoakClient) => Promise<void>): Promise<void> {
    const client = await this.#connect();
    try {
      await run(client);
    } catch (error) {
      throw new Error(client.kind, { cause: error });
    } finally {
      await client.close();
    }
  }

  /** Closes all waiting clients. */
  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(({ client }) => client.close()));
  }

  #connect(): Promise<SoakClient> {
    this.#next += 1;
    return connect(KINDS[this.#next % KINDS.length]!, this.#url);
  }
}
