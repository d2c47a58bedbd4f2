import { setTimeout as delay } from 'node:timers/promises';
import { McpServer, UserError, type LogLevel, type McpServerOptions } from 'everwire/server';

/** One red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** No samples: only a header of 44 bytes. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

/**
 * A server that uses every feature on demand: it asks, logs, reports progress, waits for cancellation, and changes its
 * lists.
 *
 * @param sessions the number of sessions, if the process knows it
 */
export function featureServer(
  sessions: () => number = () => 0,
  options: Pick<McpServerOptions, 'askTimeout' | 'stateKey'> = {},
): McpServer {
  const server = new McpServer({
    ...options,
    name: 'feature-server',
    version: '1.0.0',
    instructions: 'Call a tool to see its feature.',
    onerror: (error) => console.error(error.message),
  });

  const integer = { type: 'integer' } as const;
  const string = { type: 'string' } as const;
  const pair = { type: 'object', properties: { a: integer, b: integer }, required: ['a', 'b'] } as const;
  const number = { type: 'object', properties: { result: integer }, required: ['result'] } as const;

  server.tool('add', { description: 'Adds two integers', input: pair, output: number }, ({ a, b }) => a + b);

  const echo = { input: { type: 'object', properties: { text: string }, required: ['text'] } } as const;
  server.tool('echo', echo, ({ text }) => text);

  server.tool('fail', {}, () => {
    throw new UserError('as it should');
  });

  const icons = [{ src: `data:image/png;base64,${PNG}`, mimeType: 'image/png', sizes: ['1x1'] }];
  const dated = { audience: ['user' as const], priority: 0.5, lastModified: '2026-07-28T00:00:00Z' };

  const every = { title: 'Content', description: 'Answers every kind of content', icons } as const;
  server.tool('content', { ...every, annotations: { readOnlyHint: true } }, () => [
    { type: 'text', text: 'text', annotations: dated },
    { type: 'image', data: PNG, mimeType: 'image/png' },
    { type: 'audio', data: WAV, mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'feature://item/1', mimeType: 'text/plain', text: 'Item 1' } },
    { type: 'resource_link', uri: 'feature://item/2', name: 'item 2', title: 'Item 2', icons },
  ]);

  const count = { input: { type: 'object', properties: { to: integer }, required: ['to'] } } as const;
  server.tool('count', count, async ({ to }, ctx) => {
    for (let step = 1; step <= to; step += 1) {
      await ctx.progress(step, to, `step ${step}`);
      // With a pause, so that no two arrive in one chunk.
      await delay(20);
    }
    return `counted to ${to}`;
  });

  let cancelled = 0;
  server.tool('wait', { description: 'Runs until it is cancelled' }, async (_, ctx) => {
    await ctx.progress(1);
    await new Promise<void>((resolve) => {
      if (ctx.signal.aborted) resolve();
      else ctx.signal.addEventListener('abort', () => resolve());
    });
    cancelled += 1;
    return 'cancelled';
  });
  server.tool('cancellations', { output: number }, () => cancelled);

  const sleep = { input: { type: 'object', properties: { ms: integer }, required: ['ms'] } } as const;
  server.tool('sleep', sleep, async ({ ms }, ctx) => {
    await ctx.progress(0);
    await delay(ms);
    return `slept ${ms} ms`;
  });

  const message = {
    input: { type: 'object', properties: { level: string, data: string }, required: ['level', 'data'] },
  } as const;
  server.tool('log', message, async ({ level, data }, ctx) => {
    await ctx.log(level as LogLevel, data, 'feature-server');
    return 'logged';
  });

  const much = {
    input: { type: 'object', properties: { count: integer, bytes: integer }, required: ['count', 'bytes'] },
  } as const;
  server.tool('flood', much, async (args, ctx) => {
    const data = 'x'.repeat(args.bytes);
    for (let sent = 0; sent < args.count && !ctx.signal.aborted; sent += 1) await ctx.log('info', data, String(sent));
    return `sent ${args.count}`;
  });

  const prompt = { input: { type: 'object', properties: { prompt: string }, required: ['prompt'] } } as const;
  server.tool('sample', prompt, async (args, ctx) => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: args.prompt } }];
    return JSON.stringify(await ctx.sample({ messages, maxTokens: 100, systemPrompt: 'Be brief.' }));
  });

  server.tool('ask', { description: 'Asks for a form' }, async (_, ctx) => {
    const requestedSchema = {
      type: 'object',
      properties: { name: { type: 'string', title: 'Name' } },
      required: ['name'],
    };
    return JSON.stringify(await ctx.elicit({ message: 'Who are you?', requestedSchema }));
  });

  server.tool('choose', { description: 'Asks for choices' }, async (_, ctx) => {
    const requestedSchema = {
      type: 'object',
      properties: {
        size: { type: 'string', oneOf: [{ const: 's', title: 'Small' }], default: 's' },
        colors: { type: 'array', items: { type: 'string', enum: ['red', 'blue'] } },
      },
    };
    return JSON.stringify(await ctx.elicit({ message: 'Which ones?', requestedSchema }));
  });

  server.tool('visit', { description: 'Asks to open an address' }, async (_, ctx) => {
    const visit = { message: 'Please sign in', url: 'https://example.com/sign-in', elicitationId: 'sign-in-1' };
    return JSON.stringify(await ctx.elicitUrl(visit));
  });

  server.tool('roots', {}, async (_, ctx) => JSON.stringify(await ctx.roots()));

  const named = { input: { type: 'object', properties: { name: string }, required: ['name'] } } as const;
  server.tool('grow', named, ({ name }) => {
    server.tool(name, { description: 'Was added while the server ran' }, () => name);
    return `added ${name}`;
  });

  const touch = { input: { type: 'object', properties: { uri: string }, required: ['uri'] } } as const;
  server.tool('touch', touch, ({ uri }) => {
    server.resourceUpdated(uri);
    return `touched ${uri}`;
  });

  server.tool('health', { description: 'What the process holds' }, () => {
    return {
      pid: process.pid,
      sessions: sessions(),
      rss: process.memoryUsage.rss(),
      resources: process.getActiveResourcesInfo(),
    };
  });

  const fixed = {
    name: 'fixed',
    title: 'Fixed',
    description: 'A text',
    mimeType: 'text/plain',
    icons,
    annotations: dated,
  };
  server.resource('feature://fixed', fixed, () => 'A text.');
  const bytes = { name: 'bytes', description: 'An image', mimeType: 'image/png' };
  server.resource('feature://bytes', bytes, () => Buffer.from(PNG, 'base64'));
  const item = { name: 'item', mimeType: 'text/plain', complete: { id: ['1', '12', '2'] } };
  server.resourceTemplate('feature://item/{id}', item, ({ id }) => `Item ${id}`);

  const greet = {
    title: 'Greet',
    description: 'A greeting',
    icons,
    arguments: { name: { title: 'Name', required: true, complete: ['Ada', 'Alan', 'Grace'] } },
  } as const;
  server.prompt('greet', greet, ({ name }) => `Greet ${name}.`);

  return server;
}
