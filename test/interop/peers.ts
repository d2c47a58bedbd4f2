import type { Peer } from './features.ts';

export const demo: Peer = {
  name: 'demo',
  lists: { tools: ['add'], templates: ['greeting://{name}'], prompts: ['greet_user'] },
  structured: { call: { name: 'add', arguments: { a: 2, b: 4 } }, content: { result: 6 } },
  resource: { uri: 'greeting://Ada', text: /^Hello, Ada!$/ },
  prompt: { name: 'greet_user', arguments: { name: 'Ada', style: 'formal' }, text: /formal.*Ada/ },
  completion: {
    params: { ref: { type: 'ref/prompt', name: 'greet_user' }, argument: { name: 'style', value: 'f' } },
    values: ['friendly', 'formal'],
  },
  invalidArguments: { name: 'add', arguments: { a: 'two', b: 4 } },
  missingResource: 'nothing://here',
  namesMissingResource: true,
};

let grown = 0;

/** Servers get the same names again, as if the process were new. */
export function resetNames(): void {
  grown = 0;
}

export const featureServer: Peer = {
  name: 'feature server',
  lists: {
    tools: ['add', 'sample', 'ask', 'wait'],
    resources: ['feature://fixed', 'feature://bytes'],
    templates: ['feature://item/{id}'],
    prompts: ['greet'],
  },
  structured: { call: { name: 'add', arguments: { a: 2, b: 4 } }, content: { result: 6 } },
  resource: { uri: 'feature://item/7', text: /^Item 7$/ },
  prompt: { name: 'greet', arguments: { name: 'Ada' }, text: /^Greet Ada\.$/ },
  completion: {
    params: { ref: { type: 'ref/resource', uri: 'feature://item/{id}' }, argument: { name: 'id', value: '1' } },
    values: ['1', '12'],
  },
  invalidArguments: { name: 'add', arguments: { a: 'two', b: 4 } },
  missingResource: 'feature://nowhere',
  namesMissingResource: true,
  progress: { call: { name: 'count', arguments: { to: 5 } }, steps: 5 },
  cancel: { call: { name: 'wait' }, count: { name: 'cancellations' } },
  logging: {
    log: async ({ callTool }, heard) => {
      const level = heard ? 'info' : 'warning';
      await callTool({ name: 'log', arguments: { level, data: `at ${level}` } });
      return ({ data }) => data === `at ${level}`;
    },
  },
  subscription: { uri: 'feature://fixed', update: { name: 'touch', arguments: { uri: 'feature://fixed' } } },
  listChanged: async ({ callTool, methods }) => {
    const name = `grown-${process.pid}-${++grown}`;
    await callTool({ name: 'grow', arguments: { name } });
    return {
      method: 'notifications/tools/list_changed',
      check: async () => {
        const { tools } = await methods.listTools();
        if (!tools.some((tool: { name: string }) => tool.name === name)) throw new Error(`${name} is not in the list`);
      },
    };
  },
  sampling: { call: { name: 'sample', arguments: { prompt: 'Say something' } }, text: /a sampled text/ },
  elicitation: { call: { name: 'ask' }, accepted: /"name":"Ada"/, declined: /"action":"decline"/ },
  urlElicitation: { call: { name: 'visit' }, text: /"action":"accept"/ },
  roots: { call: { name: 'roots' }, text: /file:\/\/\/tmp\/project/ },
};

export const everything: Peer = {
  name: 'server-everything',
  lists: {
    tools: ['echo', 'get-sum', 'trigger-sampling-request', 'get-roots-list'],
    resources: ['demo://resource/static/document/architecture.md'],
    templates: ['demo://resource/dynamic/text/{resourceId}'],
    prompts: ['simple-prompt', 'completable-prompt'],
  },
  structured: {
    call: { name: 'get-structured-content', arguments: { location: 'Chicago' } },
    content: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
  },
  resource: { uri: 'demo://resource/dynamic/text/7', text: /^Resource 7: / },
  prompt: { name: 'args-prompt', arguments: { city: 'Paris' }, text: /Paris/ },
  completion: {
    params: {
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'name', value: 'A' },
      context: { arguments: { department: 'Engineering' } },
    },
    values: ['Alice'],
  },
  invalidArguments: { name: 'get-sum', arguments: { a: 'two', b: 4 } },
  missingResource: 'demo://resource/dynamic/text/none',
  namesMissingResource: false,
  progress: { call: { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } }, steps: 4 },
  cancel: { call: { name: 'trigger-long-running-operation', arguments: { duration: 0.5, steps: 5 } } },
  logging: {
    // This server logs each subscription at once, at level info.
    log: async ({ methods }, heard) => {
      const uri = `demo://resource/dynamic/text/${heard ? 1 : 2}`;
      await methods.subscribeResource({ uri });
      await methods.unsubscribeResource({ uri });
      return ({ data }) => String(data).includes(`Received Subscribe Resource request for URI: ${uri}`);
    },
  },
  subscription: { uri: 'demo://resource/dynamic/text/3', update: { name: 'toggle-subscriber-updates' } },
  listChanged: async ({ callTool, methods }) => {
    const name = `list-${++grown}.gz`;
    await callTool({ name: 'gzip-file-as-resource', arguments: { name, data: 'data:text/plain,hello' } });
    return {
      method: 'notifications/resources/list_changed',
      check: async () => {
        const { resources } = await methods.listResources();
        if (!resources.some((each: { name: string }) => each.name === name))
          throw new Error(`${name} is not in the list`);
      },
    };
  },
  sampling: {
    call: { name: 'trigger-sampling-request', arguments: { prompt: 'Say something' } },
    text: /a sampled text/,
  },
  elicitation: {
    call: { name: 'trigger-elicitation-request' },
    accepted: /User provided the requested information[^]*Ada/,
    declined: /User declined/,
  },
  urlElicitation: {
    call: { name: 'trigger-url-elicitation', arguments: { url: 'https://example.com/sign-in' } },
    text: /User completed the URL elicitation/,
    errorPath: { name: 'trigger-url-elicitation', arguments: { url: 'https://example.com/sign-in', errorPath: true } },
  },
  roots: { call: { name: 'get-roots-list' }, text: /file:\/\/\/tmp\/project/ },
  tasks: { call: { name: 'simulate-research-query', arguments: { topic: 'bridges' } } },
};
