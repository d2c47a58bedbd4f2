import type { Change } from '../../../src/client/handlers.ts';
import { connect, type ClientOptions, type Subscription, type Target } from '../../../src/client/index.ts';
import type { SubscriptionFilter } from '../../../src/protocol/types.ts';
import { common, INFO, State, type OfficialClient } from '../clients.ts';

const CHANGED = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
} as const;

const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/** Our client with the interface that the feature tests use. The test plays its user and its model. */
export async function ourClient(target: Target, options: ClientOptions = {}): Promise<OfficialClient> {
  const state = new State();
  const { errors } = state;
  const ask = (kind: keyof OfficialClient['answers'], method: string) => (params: object) =>
    state.question(kind, method, params);
  const client = await connect(target, {
    clientInfo: INFO,
    onelicit: { form: ask('elicitation', 'elicitation/create'), url: ask('elicitation', 'elicitation/create') },
    onsample: ask('sampling', 'sampling/createMessage'),
    onroots: () => state.question('roots', 'roots/list', undefined).roots,
    onlog: (message) => void state.onnotification({ method: 'notifications/message', params: { ...message } }),
    onnotification: (method, params) => void state.onnotification({ method, params }),
    onerror: (error) => void errors.push(error),
    ...options,
  });

  const onchange = (change: Change): void => {
    if (change.type === 'task') return;
    const notice =
      change.type === 'resource'
        ? { method: 'notifications/resources/updated', params: { uri: change.uri } }
        : { method: CHANGED[change.type] };
    void state.onnotification(notice);
  };
  const subscriptions = new Map<string, Subscription>();
  const agreed = async (what: string | SubscriptionFilter): Promise<Subscription> => {
    const subscription = await client.subscribe(what, onchange);
    if (Object.keys(subscription.filter).length > 0) return subscription;
    await subscription.close();
    throw new Error('The server does not support this subscription');
  };

  return {
    ...common(state),
    revision: client.revision,
    missingResource: client.revision === '2026-07-28' ? -32602 : -32002,
    losesLateProgress: false,
    methods: {
      listTools: async () => ({ tools: await client.listTools() }),
      listResources: async () => ({ resources: await client.listResources() }),
      listResourceTemplates: async () => ({ resourceTemplates: await client.listResourceTemplates() }),
      listPrompts: async () => ({ prompts: await client.listPrompts() }),
      readResource: ({ uri }) => client.readResource(uri),
      getPrompt: ({ name, arguments: args }) => client.getPrompt(name, args),
      complete: async ({ ref, argument, context }) => ({
        completion: await client.complete(ref, argument, { context: context?.arguments }),
      }),
      setLoggingLevel: async (level) => {
        await client.setLogLevel(level);
        return {};
      },
      subscribeResource: async ({ uri }) => {
        subscriptions.set(uri, await agreed(uri));
        return {};
      },
      unsubscribeResource: async ({ uri }) => {
        await subscriptions.get(uri)?.close();
        return {};
      },
      ping: async () => {
        await client.ping();
        return {};
      },
      sendRootsListChanged: () => client.rootsChanged(),
      getServerCapabilities: () => client.serverCapabilities,
      getServerVersion: () => client.serverInfo,
      getInstructions: () => client.instructions,
      close: () => client.close(),
    },
    alive: () => client.ping(),
    setLevel: (level) => client.setLogLevel(level as Parameters<typeof client.setLogLevel>[0]),
    subscribe: async (uri) => {
      const subscription = await agreed(uri);
      return () => subscription.close();
    },
    followLists: async () => {
      const subscription = await agreed(LISTS);
      return () => subscription.close();
    },
    rootsChanged: () => client.rootsChanged(),
    callTool: ({ name, arguments: args }, callOptions) => client.callTool(name, args, callOptions),
    request: (method, params) => client.request(method, params),
    close: () => client.close(),
  };
}
