import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  StreamableHTTPClientTransport as HttpV1,
  type StreamableHTTPClientTransportOptions as HttpOptions,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  Client as ClientV2,
  SdkHttpError,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import { expect } from 'vitest';
import { z } from 'zod';

type JsonObject = Record<string, any>;

/** `auto` speaks the newest revision of the server, `modern` only 2026-07-28. */
export type ClientKind = 'sdk 1.x' | 'client 2.x legacy' | 'client 2.x auto' | 'client 2.x modern';
export type TransportKind = 'stdio' | 'http' | 'sse' | 'memory';

/** How to reach a server: the `node` arguments that start it over stdio, and its URLs over HTTP. */
export interface Target {
  readonly stdio: readonly string[];
  /** The program that gets these arguments. Default: this `node`. */
  readonly program?: string;
  readonly url: string;
  readonly sseUrl: string;
  /** Replaces `fetch` for Streamable HTTP. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** How often a client opens a lost stream again, once a second. Default: its own few attempts. */
  readonly attempts?: number;
  /** Connects to it in memory. */
  readonly memory?: () => Promise<TransportV1>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds. For clients that have their own limit. */
  readonly timeout?: number;
  readonly onprogress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

interface Notice {
  readonly method: string;
  readonly params?: JsonObject;
}

/** The methods that both majors of the official client have, under the same names. */
interface Methods {
  listTools(): Promise<JsonObject>;
  listResources(): Promise<JsonObject>;
  listResourceTemplates(): Promise<JsonObject>;
  listPrompts(): Promise<JsonObject>;
  readResource(params: { uri: string }): Promise<JsonObject>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<JsonObject>;
  complete(params: any): Promise<JsonObject>;
  setLoggingLevel(level: any): Promise<JsonObject>;
  subscribeResource(params: { uri: string }): Promise<JsonObject>;
  unsubscribeResource(params: { uri: string }): Promise<JsonObject>;
  ping(): Promise<JsonObject>;
  sendRootsListChanged(): Promise<void>;
  getServerCapabilities(): JsonObject | undefined;
  getServerVersion(): JsonObject | undefined;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

/** A connected official client of either major version. The test plays its user and its model. */
export interface OfficialClient {
  /** Its revision. Undefined if the client does not expose it (1.x). */
  readonly revision: string | undefined;
  /** The client's error code for a missing resource. 2.x uses that of the newest revision for all revisions. */
  readonly missingResource: -32002 | -32602;
  /**
   * Whether the client loses progress that arrives in one chunk with the result. The official clients handle it one
   * turn later, when the call is over. Over Streamable HTTP they read one event after another.
   */
  readonly losesLateProgress: boolean;
  readonly methods: Methods;
  /** All notifications except progress, in order. */
  readonly notices: Notice[];
  /** The errors that the client reported. */
  readonly errors: Error[];
  /** The client's answers. A test may replace them. */
  readonly answers: Record<'sampling' | 'elicitation' | 'roots', (params: JsonObject) => JsonObject>;
  /** All questions, in order. */
  readonly questions: Notice[];
  /** Resolves if the server responds to a ping, or to discovery in a revision without ping. */
  alive(): Promise<void>;
  /** Requests log messages of this level and above: at once, or with each later call. */
  setLevel(level: string): Promise<void>;
  /** Subscribes to a resource. Resolves with a function that unsubscribes. */
  subscribe(uri: string): Promise<() => Promise<void>>;
  /** Subscribes to list changes, if the revision requires that. Resolves with a function that unsubscribes. */
  followLists(): Promise<() => Promise<void>>;
  /** Notifies the server that `answers.roots` has changed, if the revision has this notification. */
  rootsChanged(): Promise<void>;
  callTool(params: { name: string; arguments?: JsonObject }, options?: CallOptions): Promise<JsonObject>;
  /** Any request, known or not. */
  request(method: string, params?: JsonObject): Promise<JsonObject>;
  /** Waits for the first matching notification after the first `from`, at most `timeout` milliseconds. */
  notice(method: string, fits?: (params: JsonObject) => boolean, from?: number, timeout?: number): Promise<JsonObject>;
  close(): Promise<void>;
}

export const INFO = { name: 'interop', version: '1.0.0' };
const CAPABILITIES = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};
const MODES = {
  'client 2.x legacy': 'legacy',
  'client 2.x auto': 'auto',
  'client 2.x modern': { pin: '2026-07-28' },
} as const;
/** Milliseconds to wait for a notification, unless a test says otherwise. */
const NOTICE_TIMEOUT = 10_000;

/** What a client declares and supports in addition to the common features. */
export interface Wanted {
  readonly capabilities?: JsonObject;
  /** Its declared identity. Default: `INFO`. */
  readonly info?: typeof INFO;
  /** The revisions that a 2.x client knows. */
  readonly revisions?: readonly string[];
}

export async function connect(
  kind: ClientKind,
  transport: TransportKind,
  target: Target,
  wanted: Wanted = {},
): Promise<OfficialClient> {
  const state = new State();
  if (kind === 'sdk 1.x') return connectV1(state, transport, target, wanted);
  return connectV2(state, kind, transport, target, wanted);
}

function networkOf({ fetch, attempts }: Target): Pick<HttpOptions, 'fetch' | 'reconnectionOptions'> {
  const delays = { initialReconnectionDelay: 1000, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1 };
  return {
    ...(fetch && { fetch: (url, init) => fetch(new Request(url, init)) }),
    ...(attempts !== undefined && { reconnectionOptions: { ...delays, maxRetries: attempts } }),
  };
}

/** The common part of all clients. */
export class State {
  readonly notices: Notice[] = [];
  readonly errors: Error[] = [];
  readonly questions: Notice[] = [];
  readonly #waiting = new Set<() => void>();
  readonly answers: OfficialClient['answers'] = {
    sampling: () => ({ role: 'assistant', content: { type: 'text', text: 'a sampled text' }, model: 'test-model' }),
    elicitation: ({ mode }) => (mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } }),
    roots: () => ({ roots: [{ uri: 'file:///tmp/project', name: 'project' }] }),
  };

  readonly onnotification = async (notice: Notice): Promise<void> => {
    this.notices.push(notice);
    for (const look of this.#waiting) look();
  };

  question(kind: keyof OfficialClient['answers'], method: string, params: JsonObject | undefined): any {
    this.questions.push(params === undefined ? { method } : { method, params });
    return this.answers[kind](params ?? {});
  }

  readonly notice = (
    method: string,
    fits: (params: JsonObject) => boolean = () => true,
    from = 0,
    timeout = NOTICE_TIMEOUT,
  ): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.notices.slice(from).find((each) => each.method === method && fits(each.params ?? {}));
        if (!found) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(found.params ?? {});
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`No ${method} that fits; there were ${JSON.stringify(this.notices.slice(from))}`));
      }, timeout);
      this.#waiting.add(look);
      look();
    });
}

async function connectV1(
  state: State,
  kind: TransportKind,
  target: Target,
  { capabilities = CAPABILITIES, info = INFO }: Wanted,
): Promise<OfficialClient> {
  const { stdio, program = process.execPath, url, sseUrl } = target;
  const client = new ClientV1(info, { capabilities });
  client.fallbackNotificationHandler = state.onnotification;
  client.onerror = (error) => state.errors.push(error);
  const { question } = state;
  client.setRequestHandler(CreateMessageRequestSchema, ({ method, params }) =>
    question.call(state, 'sampling', method, params),
  );
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) =>
    question.call(state, 'elicitation', method, params),
  );
  client.setRequestHandler(ListRootsRequestSchema, ({ method, params }) =>
    question.call(state, 'roots', method, params),
  );
  const transport =
    kind === 'stdio'
      ? new StdioV1({ command: program, args: [...stdio], stderr: 'ignore' })
      : kind === 'http'
        ? new HttpV1(new URL(url), networkOf(target))
        : kind === 'sse'
          ? new SseV1(new URL(sseUrl))
          : await target.memory!();
  await client.connect(transport);
  const methods = client as unknown as Methods;
  return {
    ...common(state),
    ...inSession(methods),
    revision: undefined,
    missingResource: -32002,
    losesLateProgress: kind !== 'http',
    methods,
    callTool: (params, options) => client.callTool(params, undefined, options),
    request: (method, params) => client.request({ method, params }, ResultSchema.loose()),
    close: async () => {
      try {
        if (transport instanceof HttpV1) await transport.terminateSession();
      } finally {
        await client.close();
      }
    },
  };
}

async function connectV2(
  state: State,
  clientKind: Exclude<ClientKind, 'sdk 1.x'>,
  kind: TransportKind,
  target: Target,
  { capabilities = CAPABILITIES, info = INFO, revisions }: Wanted,
): Promise<OfficialClient> {
  const { stdio, program = process.execPath, url, sseUrl } = target;
  const client = new ClientV2(info, {
    capabilities,
    versionNegotiation: { mode: MODES[clientKind] },
    ...(revisions && { supportedProtocolVersions: [...revisions] }),
  });
  client.fallbackNotificationHandler = state.onnotification;
  client.onerror = (error) => state.errors.push(error);
  client.setRequestHandler('sampling/createMessage', ({ method, params }) =>
    state.question('sampling', method, params),
  );
  if ('elicitation' in capabilities)
    client.setRequestHandler('elicitation/create', ({ method, params }) =>
      state.question('elicitation', method, params),
    );
  client.setRequestHandler('roots/list', ({ method, params }) => state.question('roots', method, params));
  const transport =
    kind === 'stdio'
      ? new StdioV2({ command: program, args: [...stdio], stderr: 'ignore' })
      : kind === 'http'
        ? new HttpV2(new URL(url), networkOf(target))
        : kind === 'sse'
          ? new SseV2(new URL(sseUrl))
          : ((await target.memory!()) as StdioV2);
  await client.connect(transport);
  const methods = client as unknown as Methods;
  const modern = client.getProtocolEra() === 'modern';
  return {
    ...common(state),
    callTool: (params, options) => client.callTool(params, options),
    ...(modern ? withoutSession(client, methods) : inSession(methods)),
    revision: client.getNegotiatedProtocolVersion(),
    missingResource: -32602,
    losesLateProgress: kind !== 'http',
    methods,
    request: async (method, params) => {
      try {
        return await client.request({ method, params }, z.looseObject({}));
      } catch (error) {
        throw refusalIn(error, state) ?? error;
      }
    },
    close: async () => {
      try {
        if (transport instanceof HttpV2) await transport.terminateSession();
      } finally {
        await client.close();
      }
    },
  };
}

/**
 * The JSON-RPC error in a response with its own HTTP status, as 2026-07-28 requires for an unknown method (transports:
 * Protocol Version Header). The client ignores such a body, unless the status is 400.
 */
function refusalIn(error: unknown, { errors }: State): Error | undefined {
  if (!(error instanceof SdkHttpError) || error.status !== 404) return undefined;
  errors.splice(errors.indexOf(error), 1);
  const { message, ...rest } = JSON.parse(String(error.data.text)).error;
  return Object.assign(new Error(message), rest);
}

type ByEra = Pick<OfficialClient, 'alive' | 'setLevel' | 'subscribe' | 'followLists' | 'rootsChanged'>;

/** The requests of revisions with a handshake. */
export function inSession(methods: Methods): ByEra {
  return {
    alive: async () => {
      const pong = await methods.ping();
      if (Object.keys(pong).length > 0) throw new Error(`A ping was answered with ${JSON.stringify(pong)}`);
    },
    setLevel: async (level) => void (await methods.setLoggingLevel(level)),
    subscribe: async (uri) => {
      await methods.subscribeResource({ uri });
      return async () => void (await methods.unsubscribeResource({ uri }));
    },
    followLists: async () => async () => {},
    rootsChanged: () => methods.sendRootsListChanged(),
  };
}

/** The requests of 2026-07-28, which has no ping, no session log level, and only streams as subscriptions. */
function withoutSession(client: ClientV2, methods: Methods): ByEra & Pick<OfficialClient, 'callTool'> {
  let level: string | undefined;
  const listen = async (filter: JsonObject): Promise<() => Promise<void>> => {
    const subscription = await client.listen(filter);
    expect(subscription.honoredFilter).toEqual(filter);
    return async () => {
      await subscription.close();
      expect(await subscription.closed).toBe('local');
    };
  };
  return {
    alive: async () => {
      // The client itself knows that there is none.
      await expect(methods.ping()).rejects.toMatchObject({ code: 'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION' });
      expect((await client.discover()).supportedVersions).toContain('2026-07-28');
    },
    setLevel: async (wanted) => {
      await expect(methods.setLoggingLevel(wanted)).rejects.toMatchObject({
        code: 'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
      });
      level = wanted;
    },
    subscribe: (uri) => listen({ resourceSubscriptions: [uri] }),
    followLists: () => listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }),
    // Servers ask for roots when they need them.
    rootsChanged: async () => {},
    callTool: (params, options) => {
      if (level === undefined) return client.callTool(params, options);
      return client.callTool({ ...params, _meta: { 'io.modelcontextprotocol/logLevel': level } }, options);
    },
  };
}

/** The methods that all clients expose. */
export function common({
  notices,
  errors,
  questions,
  answers,
  notice,
}: State): Pick<OfficialClient, 'notices' | 'errors' | 'questions' | 'answers' | 'notice'> {
  return { notices, errors, questions, answers, notice };
}
