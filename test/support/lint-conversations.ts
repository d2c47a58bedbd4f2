import { HttpScript, StdioScript, initialize, initialized, modernMeta, rpc } from './wire-script.ts';

type Json = Record<string, any>;

export const META = 'io.modelcontextprotocol';
export const serverMeta = { [`${META}/serverInfo`]: { name: 's', version: '1' } };
export const text = { content: [{ type: 'text', text: 'ok' }] };
export const tool = (more: Json = {}): Json => ({
  name: 'add',
  description: 'Adds numbers',
  inputSchema: { type: 'object' },
  ...more,
});

/** A result of 2026-07-28. */
export const done = (more: Json = {}): Json => ({ resultType: 'complete', _meta: serverMeta, ...more });
export const cached = (more: Json = {}): Json => done({ ttlMs: 0, cacheScope: 'private', ...more });
export const discovered = (capabilities: Json = { tools: {}, resources: {}, prompts: {}, logging: {} }): Json =>
  cached({ supportedVersions: ['2026-07-28'], capabilities });

export const notice = (method: string, params?: Json): Json => ({ jsonrpc: '2.0', method, ...(params && { params }) });
export const result = (id: unknown, value: unknown): Json => ({ jsonrpc: '2.0', id, result: value });
export const failure = (id: unknown, code: unknown, message: unknown = 'no', details?: unknown): Json => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(details !== undefined && { data: details }) },
});

export const ALL = { tools: {}, resources: { subscribe: true }, prompts: {}, logging: {}, completions: {} };
export const ASKABLE = { roots: {}, sampling: { tools: {} }, elicitation: { form: {}, url: {} } };

export const opening = (client: Json = {}): StdioScript => new StdioScript().client(initialize('2025-11-25', client));
export const opened = result(0, initialized('2025-11-25', ALL));

/** A session over stdio. */
export const session = (revision = '2025-11-25', client: Json = {}, server: Json = ALL): StdioScript =>
  new StdioScript().handshake(revision, client, server);
/** A session over HTTP. */
export const web = (revision = '2025-11-25', client: Json = {}, server: Json = ALL): HttpScript =>
  new HttpScript().handshake(revision, client, server);

export const primed = 'id: 0\ndata:\n\n';
let eventId = 0;
export const prime = (): string => `id: p${++eventId}\ndata:\n\n`;

/** Calls of 2026-07-28 over stdio, to a server that has shown that it speaks it. */
export class Modern extends StdioScript {
  #next = 100;
  constructor(server?: Json) {
    super();
    this.request('server/discover', {}, discovered(server));
  }
  request(method: string, params: Json, value: Json | undefined, meta: Json = modernMeta()): this {
    this.#next += 1;
    this.client(rpc(this.#next, method, { _meta: meta, ...params }));
    return value === undefined ? this : this.server(result(this.#next, value));
  }
  get last(): number {
    return this.#next;
  }
}
export const modern = (server?: Json): Modern => new Modern(server);

/** The same over HTTP. */
export class ModernWeb extends HttpScript {
  constructor() {
    super();
    this.revision = '2026-07-28';
    this.post(rpc(1, 'server/discover', { _meta: modernMeta() }), { message: result(1, discovered()) });
  }
  post(message: Json, answer: Parameters<HttpScript['response']>[0], headers: Json = {}): this {
    const { name, uri } = message['params'] ?? {};
    const named = message['method'] === 'resources/read' ? uri : name;
    const own = { 'Mcp-Method': message['method'], ...(named !== undefined && { 'Mcp-Name': named }) };
    return this.exchange({ message, headers: { ...own, ...headers } }, answer);
  }
}
export const modernWeb = (): ModernWeb => new ModernWeb();
export const modernCall = (id: number, params: Json = {}): Json =>
  rpc(id, 'tools/call', { name: 'add', arguments: {}, _meta: modernMeta(), ...params });
export const list = (...tools: Json[]): StdioScript => session().call('tools/list', {}, { tools });
export const modernList = (more: Json): Modern => modern().request('tools/list', {}, cached({ tools: [tool(more)] }));
export const marked = (value: unknown, more: Json = { type: 'string' }): Json => ({
  inputSchema: { type: 'object', properties: { a: { ...more, 'x-mcp-header': value } } },
});
export const ask = (method: string, params: Json, client: Json = ASKABLE): StdioScript =>
  session('2025-11-25', client)
    .client(rpc('c', 'tools/call', { name: 'add' }))
    .server(rpc('q', method, params));
export const elicit = (params: Json): StdioScript => ask('elicitation/create', { message: 'Please', ...params });
export const byUrl = (url: string): StdioScript => elicit({ mode: 'url', url, elicitationId: 'e' });
export const sample = (params: Json, client?: Json): StdioScript =>
  ask('sampling/createMessage', { messages: [], maxTokens: 1, ...params }, client);
export const needs = (more: Json, client: Json = { elicitation: {} }): Modern =>
  modern().request('tools/call', { name: 'add' }, { ...done(more), resultType: 'input_required' }, modernMeta(client));
export const read = (contents: Json[], method = 'resources/read', params: Json = { uri: 'a:b' }): StdioScript =>
  session().call(method, params, { contents });
export const unauthorized = (challenge: string | undefined, revision = '2025-11-25', status = 401): HttpScript =>
  web(revision).exchange({ message: rpc(1, 'tools/list') }, { status, headers: { 'WWW-Authenticate': challenge } });
export const withTask = { tasks: { requests: { tools: { call: {} } } } };
export const task = (status: string, more: Json = {}): Json => ({
  taskId: '0123456789abcdef',
  status,
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttl: 1,
  ...more,
});
export const tasked = (): StdioScript => session('2025-11-25', {}, { ...ALL, ...withTask });
export const startTask = (value: Json): StdioScript =>
  tasked()
    .call('tools/list', {}, { tools: [tool({ execution: { taskSupport: 'optional' } })] })
    .call('tools/call', { name: 'add', task: {} }, { task: value });
export const progress = (token: unknown, value: number): Json =>
  notice('notifications/progress', { progressToken: token, progress: value });
export const withToken = (token: unknown): Json => ({ name: 'add', _meta: { progressToken: token } });
export const listen = (filter: Json): Modern =>
  modern().request('subscriptions/listen', { notifications: filter }, undefined);
export const ofSubscription = (script: Modern, method: string, params: Json = {}): Modern =>
  script.server(notice(method, { ...params, _meta: { [`${META}/subscriptionId`]: script.last } }));
export const extension = modernMeta({ extensions: { [`${META}/tasks`]: {} } });
export const taskState = (more: Json): Modern =>
  modern().request('tasks/get', { taskId: 't' }, done({ taskId: 't', ...more }), extension);

/** A frame without an id. */
export function frame(message: unknown): string {
  return `data: ${JSON.stringify(message)}\n\n`;
}

export function listenEnds(): Modern {
  const script = listen({ toolsListChanged: true });
  return script.server(result(script.last, done()));
}
