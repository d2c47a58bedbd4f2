import { onLine } from '../support/lines.ts';
import { startNode } from '../support/process.ts';
import { inSession, type CallOptions, type OfficialClient, type Target, type TransportKind } from './clients.ts';
import { Recording } from './recording.ts';
import { readEvents } from './sse.ts';

type JsonObject = Record<string, any>;

/** The connection of a raw client. It carries only JSON texts. */
interface Wire {
  /** @param opened whether the handshake is complete */
  send(json: string): Promise<void>;
  /** The handshake is complete, and the server may send messages outside of calls. */
  opened(revision: string): Promise<void>;
  close(): Promise<void>;
}

type Receive = (json: string) => void;
type Fail = (error: Error) => void;

/** A client of any handshake revision that sends plain messages. It records all messages. */
export class RawClient extends Recording implements OfficialClient {
  readonly missingResource = -32002;
  readonly losesLateProgress = false;
  readonly revision: string;
  #wire!: Wire;
  #opened: JsonObject = {};
  #lastId = 0;
  readonly #fail: Fail = (error) => this.errors.push(error);

  constructor(revision: string) {
    super();
    this.revision = revision;
  }

  static async connect(
    revision: string,
    kind: Exclude<TransportKind, 'memory'>,
    target: Target,
    capabilities: JsonObject = capabilitiesOf(revision),
  ): Promise<RawClient> {
    const client = new RawClient(revision);
    const receive: Receive = (json) => client.#receive(json);
    client.#wire = kind === 'stdio' ? stdioWire(target, receive) : await httpWire(kind, target, receive, client.#fail);
    const clientInfo = { name: 'raw', version: '1.0.0' };
    client.#opened = await client.request('initialize', { protocolVersion: revision, capabilities, clientInfo });
    await client.notify('notifications/initialized');
    await client.#wire.opened(client.#opened['protocolVersion']);
    return client;
  }

  get initializeResult(): JsonObject {
    return this.#opened;
  }

  readonly methods: OfficialClient['methods'] = {
    listTools: () => this.request('tools/list'),
    listResources: () => this.request('resources/list'),
    listResourceTemplates: () => this.request('resources/templates/list'),
    listPrompts: () => this.request('prompts/list'),
    readResource: (params) => this.request('resources/read', params),
    getPrompt: (params) => this.request('prompts/get', params),
    complete: (params) => this.request('completion/complete', params),
    setLoggingLevel: (level) => this.request('logging/setLevel', { level }),
    subscribeResource: (params) => this.request('resources/subscribe', params),
    unsubscribeResource: (params) => this.request('resources/unsubscribe', params),
    ping: () => this.request('ping'),
    sendRootsListChanged: () => this.notify('notifications/roots/list_changed'),
    getServerCapabilities: () => this.#opened['capabilities'],
    getServerVersion: () => this.#opened['serverInfo'],
    getInstructions: () => this.#opened['instructions'],
    close: () => this.close(),
  };

  readonly #era = inSession(this.methods);
  readonly alive = this.#era.alive;
  readonly setLevel = this.#era.setLevel;
  readonly subscribe = this.#era.subscribe;
  readonly followLists = this.#era.followLists;
  readonly rootsChanged = this.#era.rootsChanged;

  readonly callTool = async (params: JsonObject, { signal, onprogress }: CallOptions = {}): Promise<JsonObject> => {
    const id = this.#lastId + 1;
    const withToken = onprogress ? { ...params, _meta: { progressToken: id } } : params;
    const unwatch = this.watch(({ method, params: report }) => {
      if (method === 'notifications/progress' && report.progressToken === id) onprogress?.(report);
    });
    const answer = this.request('tools/call', withToken);
    const cancelled = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => {
        this.notify('notifications/cancelled', { requestId: id, reason: 'enough' }).catch(this.#fail);
        reject(new Error('cancelled'));
      });
    });
    try {
      return await Promise.race([answer, cancelled]);
    } finally {
      unwatch();
    }
  };

  /** Sends a request. Resolves with its result. */
  readonly request = async (method: string, params?: JsonObject): Promise<any> => {
    const id = ++this.#lastId;
    const answered = this.resultOf(id, method);
    answered.catch(() => {});
    await this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
    return answered;
  };

  async notify(method: string, params?: JsonObject): Promise<void> {
    await this.send({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
  }

  /** Sends a message, or a batch. */
  async send(message: JsonObject | JsonObject[]): Promise<void> {
    this.sent.push(...[message].flat());
    await this.#wire.send(JSON.stringify(message));
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  #receive(json: string): void {
    for (const message of [JSON.parse(json)].flat()) {
      this.take(message);
      if ('method' in message && 'id' in message) this.#answer(message).catch(this.#fail);
    }
  }

  async #answer({ id, method, params }: JsonObject): Promise<void> {
    const result = method === 'ping' ? {} : this.answerTo({ method, params });
    if (result) await this.send({ jsonrpc: '2.0', id, result });
    else await this.send({ jsonrpc: '2.0', id, error: { code: -32601, message: `Method not found: ${method}` } });
  }
}

/** What a client of a revision can declare. */
export function capabilitiesOf(revision: string): JsonObject {
  return {
    sampling: {},
    roots: { listChanged: true },
    ...(revision >= '2025-11-25' ? { elicitation: { form: {}, url: {} } } : {}),
    ...(revision === '2025-06-18' ? { elicitation: {} } : {}),
  };
}

function stdioWire({ stdio }: Target, receive: Receive): Wire {
  const server = startNode(stdio);
  onLine(server.child.stdout!, receive);
  return {
    send: async (json) => void server.child.stdin!.write(`${json}\n`),
    opened: async () => {},
    close: async () => {
      server.child.stdin!.end();
      const { code } = await server.exited;
      if (code !== 0) throw new Error(`The server ended with ${code}: ${server.stderr.join('\n')}`);
    },
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

async function httpWire(kind: 'http' | 'sse', { url, sseUrl }: Target, receive: Receive, fail: Fail): Promise<Wire> {
  const controller = new AbortController();
  const { signal } = controller;
  const ended = (error: Error): void => {
    if (!signal.aborted) fail(error);
  };
  const read = async (body: ReadableStream<Uint8Array>, onendpoint?: (path: string) => void): Promise<void> => {
    for await (const { event, data } of readEvents(body)) {
      if (event === 'endpoint') onendpoint?.(data!);
      else if (data) receive(data);
    }
  };
  if (kind === 'sse') {
    const stream = await fetch(sseUrl, { headers: { accept: 'text/event-stream' }, signal });
    const endpoint = await new Promise<string>((resolve) => {
      read(stream.body!, resolve).catch(ended);
    });
    return {
      send: async (body) => {
        const response = await fetch(new URL(endpoint, sseUrl), { method: 'POST', headers: JSON_TYPE, body, signal });
        if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`);
        await response.text();
      },
      opened: async () => {},
      close: async () => controller.abort(),
    };
  }
  const headers: Record<string, string> = { ...JSON_TYPE, accept: 'application/json, text/event-stream' };
  return {
    send: async (body) => {
      const response = await fetch(url, { method: 'POST', headers, body, signal });
      const session = response.headers.get('mcp-session-id');
      if (session !== null) headers['mcp-session-id'] = session;
      const type = response.headers.get('content-type');
      if (type === 'text/event-stream') read(response.body!).catch(ended);
      else {
        const text = await response.text();
        if (text !== '') receive(text);
      }
    },
    opened: async (revision) => {
      if (revision >= '2025-06-18') headers['mcp-protocol-version'] = revision;
      const { 'content-type': _, ...rest } = headers;
      const stream = await fetch(url, { headers: { ...rest, accept: 'text/event-stream' }, signal });
      read(stream.body!).catch(ended);
    },
    close: async () => {
      const response = await fetch(url, { method: 'DELETE', headers });
      controller.abort();
      if (response.status !== 204) throw new Error(`DELETE was answered with ${response.status}`);
    },
  };
}
