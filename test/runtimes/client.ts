import { linesOf } from '../support/lines.ts';
import { connect, RpcError, type Change, type Client, type Subscription, type Target } from 'everwire/client';

/** Our client as a program that a test drives, on any runtime. `languages/driver.ts` describes the protocol. */

type JsonObject = Record<string, any>;

const CHANGED = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
} as const;
const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

const running = new Map<number, AbortController>();
const asked = new Map<number, (answer: any) => void>();
const subscriptions = new Map<string, Subscription>();
let questions = 0;
let client: Client;

function send(message: JsonObject): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function notice(method: string, params?: object): void {
  send({ method: 'notice', params: { method, params } });
}

const ask = (method: string) => (params?: object) =>
  new Promise<any>((resolve) => {
    const id = ++questions;
    asked.set(id, resolve);
    send({ id, method, params });
  });

function onchange(change: Change): void {
  if (change.type === 'resource') notice('notifications/resources/updated', { uri: change.uri });
  else if (change.type !== 'task') notice(CHANGED[change.type]);
}

async function open({ transport, url, command, revision }: JsonObject): Promise<JsonObject> {
  const [program = '', ...args] = command ?? [];
  const target: Target = transport === 'stdio' ? { command: program, args } : url;
  client = await connect(target, {
    revision,
    clientInfo: { name: 'interop', version: '1.0.0' },
    onelicit: { form: ask('elicitation/create'), url: ask('elicitation/create') },
    onsample: ask('sampling/createMessage'),
    onroots: async () => (await ask('roots/list')()).roots,
    onlog: (message) => notice('notifications/message', message),
    onnotification: (method, params) => notice(method, params),
    onerror: ({ message }) => send({ method: 'fault', params: { message } }),
  });
  const { revision: agreed, serverCapabilities: capabilities, serverInfo, instructions } = client;
  return { revision: agreed, capabilities, serverInfo, instructions };
}

async function subscribe(key: string, what: string | typeof LISTS): Promise<void> {
  subscriptions.set(key, await client.subscribe(what, onchange));
}

async function unsubscribe(key: string): Promise<void> {
  await subscriptions.get(key)?.close();
}

const methods: Record<string, (params: JsonObject, signal: AbortSignal, id: number) => Promise<unknown>> = {
  connect: (params) => open(params),
  close: () => client.close(),
  alive: () => client.ping(),
  setLevel: ({ level }) => client.setLogLevel(level),
  subscribe: ({ uri }) => subscribe(uri, uri),
  unsubscribe: ({ uri }) => unsubscribe(uri),
  followLists: () => subscribe('lists', LISTS),
  unfollowLists: () => unsubscribe('lists'),
  rootsChanged: () => client.rootsChanged(),
  request: ({ method, params }) => client.request(method, params),
  'tools/list': async () => ({ tools: await client.listTools() }),
  'resources/list': async () => ({ resources: await client.listResources() }),
  'resources/templates/list': async () => ({ resourceTemplates: await client.listResourceTemplates() }),
  'prompts/list': async () => ({ prompts: await client.listPrompts() }),
  'resources/read': ({ uri }) => client.readResource(uri),
  'prompts/get': ({ name, arguments: args }) => client.getPrompt(name, args),
  'completion/complete': async ({ ref, argument, context }) => ({
    completion: await client.complete(ref, argument, { context: context?.arguments }),
  }),
  'tools/call': ({ name, arguments: args }, signal, id) =>
    client.callTool(name, args, {
      signal,
      onprogress: (progress) => send({ method: 'progress', params: { ...progress, id } }),
    }),
};

async function answer(id: number, method: string, params: JsonObject): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  try {
    send({ id, result: (await methods[method]!(params, controller.signal, id)) ?? {} });
  } catch (error) {
    const { message } = error as Error;
    send({ id, error: error instanceof RpcError ? { code: error.code, message, data: error.data } : { message } });
  } finally {
    running.delete(id);
  }
}

for await (const line of linesOf(process.stdin)) {
  const { id, method, params = {}, result } = JSON.parse(line) as JsonObject;
  if (method === undefined) {
    asked.get(id)?.(result);
    asked.delete(id);
  } else if (id === undefined) running.get(params['id'])?.abort(new Error('enough'));
  else void answer(id, method, params);
}
