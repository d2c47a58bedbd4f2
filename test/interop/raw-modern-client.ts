import { onLine } from '../support/lines.ts';
import { meta, modernHeaders } from '../support/modern.ts';
import { startNode } from '../support/process.ts';
import type { CallOptions, OfficialClient, Target } from './clients.ts';
import { Recording } from './recording.ts';
import { readEvents } from './sse.ts';

type JsonObject = Record<string, any>;
type Request = { jsonrpc: '2.0'; id: number; method: string; params: JsonObject };

/** Carries independent requests. */
interface Wire {
  /** Sends a request. Its messages go to `receive`. `headers` are sent in addition to the body. */
  send(request: Request, headers?: Record<string, string>): Promise<void>;
  /** Cancels a request. */
  cancel(id: number): Promise<void>;
  close(): Promise<void>;
}

const CAPABILITIES = { sampling: {}, roots: {}, elicitation: { form: {}, url: {} } };
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** A client of 2026-07-28 that sends plain messages. It records all messages. */
export class RawModernClient extends Recording implements OfficialClient {
  readonly revision = '2026-07-28';
  readonly missingResource = -32602;
  readonly losesLateProgress = false;
  #wire!: Wire;
  #discovered: JsonObject = {};
  #level: string | undefined;
  #lastId = 0;

  static async connect(kind: 'stdio' | 'http', target: Target): Promise<RawModernClient> {
    const client = new RawModernClient();
    client.#wire = kind === 'stdio' ? client.#overStdio(target) : client.#overHttp(target);
    client.#discovered = await client.request('server/discover');
    return client;
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
    sendRootsListChanged: () => Promise.reject(new Error('there is no such notification')),
    getServerCapabilities: () => this.#discovered['capabilities'],
    getServerVersion: () => this.#discovered['_meta']['io.modelcontextprotocol/serverInfo'],
    getInstructions: () => this.#discovered['instructions'],
    close: () => this.close(),
  };

  readonly alive = async (): Promise<void> => void (await this.request('server/discover'));
  readonly setLevel = async (level: string): Promise<void> => void (this.#level = level);
  readonly subscribe = (uri: string) => this.listen({ resourceSubscriptions: [uri] });
  readonly followLists = () =>
    this.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
  readonly rootsChanged = async (): Promise<void> => {};

  /** Opens a subscription. Resolves with a function that ends it. */
  async listen(notifications: JsonObject): Promise<() => Promise<void>> {
    const request = this.#make('subscriptions/listen', { notifications });
    await this.#send(request);
    await this.message(
      ({ method, params }) =>
        method === 'notifications/subscriptions/acknowledged' && params['_meta']?.[SUBSCRIPTION] === request.id,
      'acknowledgement',
    );
    return () => this.#wire.cancel(request.id);
  }

  readonly callTool: OfficialClient['callTool'] = (params, options) => {
    const levelled = this.#level === undefined ? params : { ...params, _meta: { [LOG_LEVEL]: this.#level } };
    return this.#rounds('tools/call', levelled, options);
  };

  readonly request = (method: string, params: JsonObject = {}): Promise<JsonObject> => this.#rounds(method, params);

  /**
   * Sends a request as it is. Resolves with the response, also if it is an error.
   *
   * @param headers override the headers of the request.
   */
  async raw(method: string, params: JsonObject, headers: Record<string, string> = {}): Promise<JsonObject> {
    const request: Request = { jsonrpc: '2.0', id: ++this.#lastId, method, params };
    await this.#send(request, headers);
    return this.message((message) => message['id'] === request.id, `answer to ${method}`);
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  /** Answers the server's questions until it has the result. */
  async #rounds(method: string, params: JsonObject, options: CallOptions = {}): Promise<JsonObject> {
    for (let retry: JsonObject = {}; ;) {
      const result = await this.#round(this.#make(method, { ...params, ...retry }), options);
      if (result['resultType'] !== 'input_required') return result;
      const answers = Object.entries<JsonObject>(result['inputRequests'] ?? {}).map(([key, question]) => {
        return [key, this.answerTo(question)] as const;
      });
      const { requestState } = result;
      retry = {
        inputResponses: Object.fromEntries(answers),
        ...(requestState === undefined ? {} : { requestState }),
      };
    }
  }

  async #round(request: Request, { signal, onprogress }: CallOptions): Promise<JsonObject> {
    const { id, method, params } = request;
    if (onprogress) params['_meta'].progressToken = id;
    const unwatch = this.watch(({ method: told, params: report }) => {
      if (told === 'notifications/progress' && report.progressToken === id) onprogress?.(report);
    });
    const cancelled = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => {
        this.#wire.cancel(id).catch((error: Error) => this.errors.push(error));
        reject(new Error('cancelled'));
      });
    });
    try {
      const answered = this.resultOf(id, method);
      answered.catch(() => {});
      await this.#send(request);
      return await Promise.race([answered, cancelled]);
    } finally {
      unwatch();
    }
  }

  #make(method: string, { _meta, ...params }: JsonObject): Request {
    return { jsonrpc: '2.0', id: ++this.#lastId, method, params: { ...params, _meta: meta(CAPABILITIES, _meta) } };
  }

  async #send(request: Request, headers?: Record<string, string>): Promise<void> {
    this.sent.push(request);
    await this.#wire.send(request, headers);
  }

  #overStdio({ stdio }: Target): Wire {
    const server = startNode(stdio);
    onLine(server.child.stdout!, (line) => this.take(JSON.parse(line)));
    const write = (message: JsonObject): void => void server.child.stdin!.write(`${JSON.stringify(message)}\n`);
    return {
      send: async (request) => write(request),
      cancel: async (requestId) => {
        const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
        this.sent.push(cancelled);
        write(cancelled);
      },
      close: async () => {
        server.child.stdin!.end();
        const { code } = await server.exited;
        if (code !== 0) throw new Error(`The server ended with ${code}: ${server.stderr.join('\n')}`);
      },
    };
  }

  #overHttp({ url }: Target): Wire {
    const open = new Map<number, AbortController>();
    const read = async (id: number, { body }: Response): Promise<void> => {
      try {
        for await (const { data } of readEvents(body!)) if (data) this.take(JSON.parse(data));
      } catch (error) {
        if (!open.get(id)!.signal.aborted) this.errors.push(error as Error);
      }
      open.delete(id);
    };
    return {
      send: async (request, headers) => {
        const controller = new AbortController();
        open.set(request.id, controller);
        const response = await fetch(url, {
          method: 'POST',
          headers: { ...modernHeaders(request), ...headers },
          body: JSON.stringify(request),
          signal: controller.signal,
        });
        if (response.headers.get('content-type') === 'text/event-stream') void read(request.id, response);
        else this.take((await response.json()) as JsonObject);
      },
      cancel: async (id) => open.get(id)?.abort(),
      close: async () => {
        for (const controller of open.values()) controller.abort();
      },
    };
  }
}
