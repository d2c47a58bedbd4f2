import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { McpServer } from '../../src/server/index.ts';
import { featureServer } from '../support/features.ts';
import { eventually, programs } from '../support/process.ts';
import { connect, type ClientKind, type OfficialClient, type Target, type TransportKind } from './clients.ts';

type JsonObject = Record<string, any>;

/** A client whose questions and answers all contain its name. */
interface Guest {
  readonly name: string;
  readonly client: OfficialClient;
}

/** The clients: at least two of each era, and one of every kind. */
const GUESTS: readonly (readonly [name: string, kind: ClientKind])[] = [
  ['ada', 'sdk 1.x'],
  ['grace', 'client 2.x legacy'],
  ['alan', 'client 2.x auto'],
  ['edsger', 'client 2.x modern'],
  ['barbara', 'client 2.x modern'],
];

/** How many times each client does everything, all in parallel. */
const TIMES = 3;

describe.each([
  ['HTTP', listening],
  ['fetch', fetched],
])('one server over %s', (_, open) => {
  let server: McpServer;
  let guests: Guest[];

  beforeAll(async () => {
    server = threeRoundServer();
    const target = await open(server);
    guests = await Promise.all(GUESTS.map(([name, kind]) => arrive(name, kind, 'http', target)));
    if (target.sseUrl) guests.push(await arrive('donald', 'sdk 1.x', 'sse', target));
  });

  afterAll(async () => {
    await Promise.all(guests.map(({ client }) => client.close()));
    await server.close();
  });

  test('has clients of both eras', () => {
    expect(new Set(guests.map(({ client }) => client.revision))).toEqual(
      new Set([undefined, '2025-11-25', '2026-07-28']),
    );
  });

  test('gives each client its own responses', async () => {
    await Promise.all(guests.flatMap((guest) => repeated((n) => Promise.all([talk(guest, n), survey(guest, n)]))));
    for (const guest of guests) expectOwn(guest);
    // The server notices a closed stream a little later.
    await eventually(async () => {
      const { structuredContent } = await guests[0]!.client.callTool({ name: 'cancellations' });
      return structuredContent.result === guests.length * TIMES;
    }, 'every call that was cancelled knows it');
  });

  test('sends changes to all clients', async () => {
    await Promise.all(guests.map(listenToAll));
    const names = guests.map(({ name }) => `made-by-${name}`);
    const heard = guests.map(({ client }) =>
      Promise.all([
        client.notice('notifications/tools/list_changed'),
        client.notice('notifications/resources/updated', ({ uri }) => uri === 'feature://fixed'),
      ]),
    );
    await Promise.all([
      ...guests.map(({ client }, at) => client.callTool({ name: 'grow', arguments: { name: names[at] } })),
      guests[0]!.client.callTool({ name: 'touch', arguments: { uri: 'feature://fixed' } }),
      ...heard,
    ]);
    for (const { client } of guests) {
      const { tools } = await client.methods.listTools();
      expect(tools.map((tool: JsonObject) => tool['name'])).toEqual(expect.arrayContaining(names));
    }
  });

  test('sends changes of a resource only to its subscriber', async () => {
    const own = ({ name }: Guest): string => `feature://item/${name}`;
    const ends = await Promise.all(guests.map((guest) => guest.client.subscribe(own(guest))));
    const from = guests.map(({ client }) => client.notices.length);
    await Promise.all(
      guests.map(async (guest, at) => {
        await guest.client.callTool({ name: 'touch', arguments: { uri: own(guest) } });
        await guest.client.notice('notifications/resources/updated', ({ uri }) => uri === own(guest), from[at]);
      }),
    );
    await Promise.all(ends.map((end) => end()));
    for (const [at, guest] of guests.entries()) {
      await guest.client.alive();
      const told = guest.client.notices.slice(from[at]).map(({ params }) => params?.['uri']);
      expect(told).toEqual([own(guest)]);
    }
  });

  test('sends each client only what it can parse', () => {
    for (const { client } of guests) expect(misunderstood(client)).toEqual([]);
  });
});

test('several processes over stdio give each client its own responses at the same time', async () => {
  const target: Target = { stdio: [...programs.features, '--stdio'], url: '', sseUrl: '' };
  const guests = await Promise.all(GUESTS.map(([name, kind]) => arrive(name, kind, 'stdio', target)));
  onTestFinished(async () => void (await Promise.all(guests.map(({ client }) => client.close()))));
  await Promise.all(guests.flatMap((guest) => repeated((n) => talk(guest, n))));
  for (const guest of guests) {
    expectOwn(guest);
    expect(misunderstood(guest.client)).toEqual([]);
  }
});

test('simultaneous questions take one round of a request', async () => {
  const server = threeRoundServer();
  const target = await fetched(server);
  const calls: JsonObject[] = [];
  const counting: Target = {
    ...target,
    fetch: async (request) => {
      const { method, params } = (await request.clone().json()) as JsonObject;
      if (method === 'tools/call') calls.push(params);
      return target.fetch!(request);
    },
  };
  const guest = await arrive('ada', 'client 2.x modern', 'http', counting);
  onTestFinished(async () => {
    await guest.client.close();
    await server.close();
  });
  await survey(guest, 1);
  expect(calls.map(({ inputResponses = {} }) => Object.keys(inputResponses).length)).toEqual([0, 3, 2, 1]);
});

/** The feature server with a tool that asks three times: three questions, then two that follow from them, then one. */
function threeRoundServer(): McpServer {
  const server = featureServer();
  const whose = { type: 'object', properties: { whose: { type: 'string' } }, required: ['whose'] } as const;
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  server.tool('survey', { input: whose }, async ({ whose: who }, ctx) => {
    const form = async (message: string): Promise<string> => {
      const { content } = await ctx.elicit({ message: `${who} ${message}`, requestedSchema });
      return String((content as JsonObject)['name']);
    };
    const model = async (text: string): Promise<string> => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: `${who} ${text}` } }];
      return ((await ctx.sample({ messages, maxTokens: 10 })).content as JsonObject)['text'];
    };
    const first = await Promise.all([form('one'), model('two'), ctx.roots()]);
    const second = await Promise.all([form(`after ${first[0]}`), form(`after ${first[1]}`)]);
    const third = await model(`after ${second[1]}`);
    return JSON.stringify([...first, ...second, third]);
  });
  return server;
}

async function listening(server: McpServer): Promise<Target> {
  const { url, sseUrl } = await server.listen({ port: 0 });
  return { stdio: [], url, sseUrl: sseUrl! };
}

async function fetched(server: McpServer): Promise<Target> {
  return { stdio: [], url: 'http://localhost/mcp', sseUrl: '', fetch: server.fetch };
}

async function arrive(name: string, kind: ClientKind, transport: TransportKind, target: Target): Promise<Guest> {
  const client = await connect(kind, transport, target);
  Object.assign(client.answers, {
    // The result says who was asked what.
    sampling: ({ messages }: JsonObject) => ({
      role: 'assistant',
      content: { type: 'text', text: `${name} to ${messages[0].content.text}` },
      model: 'test-model',
    }),
    elicitation: ({ mode, message }: JsonObject) =>
      mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: `${name} to ${message}` } },
    roots: () => ({ roots: [{ uri: `file:///home/${name}`, name }] }),
  });
  await client.setLevel('info');
  return { name, client };
}

function repeated<T>(work: (n: number) => Promise<T>): Promise<T>[] {
  return Array.from({ length: TIMES }, (_, n) => work(n + 1));
}

/** Uses all features of a server at once. */
async function talk({ name, client }: Guest, n: number): Promise<void> {
  const { callTool, methods, losesLateProgress } = client;
  const whose = `${name} ${n}`;
  const text = async (tool: string, args?: JsonObject): Promise<string> => {
    const { content } = await callTool({ name: tool, ...(args && { arguments: args }) });
    return content[0].text;
  };
  const counted = async (): Promise<number[]> => {
    const seen: number[] = [];
    const to = name.length + n;
    await callTool({ name: 'count', arguments: { to } }, { onprogress: ({ total }) => seen.push(total!) });
    return [...new Set(seen)];
  };
  const cancelled = async (): Promise<string> => {
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort(new Error(`enough for ${whose}`)) };
    const answer = callTool({ name: 'wait' }, options);
    return answer.then(
      (result) => JSON.stringify(result),
      (error: Error) => error.message,
    );
  };

  const [asked, sampled, visited, roots, totals, reason, logged, echoed, sum, item, greeting, completion] =
    await Promise.all([
      text('ask'),
      text('sample', { prompt: whose }),
      text('visit'),
      text('roots'),
      counted(),
      cancelled(),
      text('log', { level: 'info', data: whose }),
      text('echo', { text: whose }),
      callTool({ name: 'add', arguments: { a: name.length, b: n } }),
      methods.readResource({ uri: `feature://item/${name}` }),
      methods.getPrompt({ name: 'greet', arguments: { name: whose } }),
      methods.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'A' } }),
    ]);

  expect(JSON.parse(asked)).toEqual({ action: 'accept', content: { name: `${name} to Who are you?` } });
  expect(JSON.parse(sampled)).toMatchObject({ content: { text: `${name} to ${whose}` } });
  expect(JSON.parse(visited)).toEqual({ action: 'accept' });
  expect(JSON.parse(roots)).toEqual([{ uri: `file:///home/${name}`, name }]);
  // All of it may come in one chunk with the result.
  const mayMissAll = losesLateProgress && totals.length === 0;
  expect(totals).toEqual(mayMissAll ? [] : [name.length + n]);
  expect(reason).toContain(`enough for ${whose}`);
  expect(logged).toBe('logged');
  expect(echoed).toBe(whose);
  expect(sum['structuredContent']).toEqual({ result: name.length + n });
  expect(item['contents']).toMatchObject([{ text: `Item ${name}` }]);
  expect(greeting['messages'][0].content.text).toBe(`Greet ${whose}.`);
  expect(completion['completion'].values).toEqual(['Ada', 'Alan']);
}

async function survey({ name, client }: Guest, n: number): Promise<void> {
  const whose = `${name}'s ${n}`;
  const { content } = await client.callTool({ name: 'survey', arguments: { whose } });
  const one = `${name} to ${whose} one`;
  const two = `${name} to ${whose} two`;
  const four = `${name} to ${whose} after ${two}`;
  expect(JSON.parse(content[0].text)).toEqual([
    one,
    two,
    [{ uri: `file:///home/${name}`, name }],
    `${name} to ${whose} after ${one}`,
    four,
    `${name} to ${whose} after ${four}`,
  ]);
}

async function listenToAll({ client }: Guest): Promise<void> {
  await Promise.all([client.followLists(), client.subscribe('feature://fixed')]);
}

/** Expects that everything a client received has its name in it, and the right number of messages. */
function expectOwn({ name, client: { questions, notices } }: Guest): void {
  const prompts = questions
    .filter(({ method }) => method === 'sampling/createMessage')
    .map(({ params }) => params!['messages'][0].content.text);
  expect(prompts.filter((prompt) => !prompt.startsWith(name))).toEqual([]);
  const logged = notices
    .filter(({ method }) => method === 'notifications/message')
    .map(({ params }) => params!['data']);
  expect(logged).toHaveLength(TIMES);
  expect(new Set(logged)).toEqual(new Set(Array.from({ length: TIMES }, (_, n) => `${name} ${n + 1}`)));
}

function misunderstood({ errors }: OfficialClient): string[] {
  // The official clients report this error for progress that comes in one chunk with the result.
  return errors
    .map(({ message }) => message)
    .filter((message) => !/progress notification for an unknown/.test(message));
}
