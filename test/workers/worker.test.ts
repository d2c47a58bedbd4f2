import { connect, type Client } from 'everwire/client';
import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { describeInWorkerd, runWorker, type RunningWorker } from './support/workerd.ts';

/** A server with what can go wrong where each request has an event loop of its own. */
const WORKER = `
  import { McpServer } from 'everwire/server';
  const server = new McpServer({ name: 'worker', version: '1.0.0', http: { keepAlive: 200 } });
  const numbers = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] };
  const sum = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] };
  server.tool('add', { input: numbers, output: sum }, async ({ a, b }, ctx) => {
    await ctx.progress(1, 2);
    await ctx.progress(2, 2);
    return { sum: a + b };
  });
  const Name = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const greet = async (_, ctx) => {
    const answer = await ctx.elicit({ message: 'Who?', schema: Name });
    return answer.action === 'accept' ? 'Hello ' + answer.content.name : answer.action;
  };
  server.tool('greet', { safeToRerun: true }, greet);
  server.tool('greet_once', {}, greet);
  let stopped = 'nothing';
  server.tool('wait', {}, (_, ctx) => new Promise((_resolve, reject) => {
    const timer = setInterval(() => {}, 100);
    ctx.signal.addEventListener('abort', () => {
      clearInterval(timer);
      stopped = 'wait';
      reject(ctx.signal.reason);
    });
  }));
  server.tool('stopped', {}, () => stopped);
  server.resource('test://counter', { name: 'counter' }, () => 'counted');
  server.tool('touch', {}, () => {
    server.resourceUpdated('test://counter');
    return 'touched';
  });
  export default { fetch: (request) => server.fetch(request) };
`;
/** The one of docs/runtimes.md. */
const LIBRARY = `export { default } from './examples/runtimes/worker.ts';`;
const ENV = { STATE_KEY: 'a secret of 16 bytes or more' };

async function connected(target: string, options: Parameters<typeof connect>[1] = {}): Promise<Client> {
  const client = await connect(target, {
    onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

async function textOf(result: ReturnType<Client['callTool']>): Promise<string> {
  const [first] = (await result).content;
  return first?.type === 'text' ? first.text : JSON.stringify(first);
}

const ERAS = [
  ['modern', '2026-07-28'],
  ['legacy', '2025-11-25'],
] as const;

describeInWorkerd('a server in workerd', () => {
  test.each(ERAS)('serves our %s client: schemas, progress, questions', async (eras, revision) => {
    const { url } = await runWorker(WORKER);
    const client = await connected(url, { eras });
    expect(client.revision).toBe(revision);
    const steps: number[] = [];
    const added = await client.callTool('add', { a: 40, b: 2 }, { onprogress: ({ progress }) => steps.push(progress) });
    expect(added.structuredContent).toEqual({ sum: 42 });
    expect(steps).toEqual([1, 2]);
    // Workers forbid to make code at run time, and the check still works.
    expect(await textOf(client.callTool('add', { a: 40, b: 'two' }))).toContain('b: must be integer');
    // Twice, because what a request has begun must not hold up the next ones.
    expect(await textOf(client.callTool('greet'))).toBe('Hello Ada');
    expect(await textOf(client.callTool('greet'))).toBe('Hello Ada');
  });

  test.each(ERAS)('notifies our %s client of changes, while nothing else happens on its stream', async (eras) => {
    const { url, logged } = await runWorker(WORKER);
    const client = await connected(url, { eras });
    let told!: () => void;
    const changed = new Promise<void>((resolve) => (told = resolve));
    await client.subscribe('test://counter', () => told());
    // The runtime ends a request for which nothing is due.
    for (let call = 0; call < 20; call += 1) await client.callTool('stopped');
    await client.callTool('touch');
    await changed;
    expect(logged.filter((line) => line.includes('hung'))).toEqual([]);
  });

  test('stops a call of 2025-11-25 on behalf of another request', async () => {
    const { url } = await runWorker(WORKER);
    const client = await connected(url, { eras: 'legacy' });
    const stop = new AbortController();
    const call = client.callTool('wait', {}, { signal: stop.signal });
    await client.callTool('touch');
    stop.abort();
    await expect(call).rejects.toThrow('aborted');
    await expect.poll(() => textOf(client.callTool('stopped'))).toBe('wait');
  });

  test('refuses to ask in a call that must not run again', async () => {
    const { url } = await runWorker(WORKER);
    const client = await connected(url, { eras: 'modern' });
    await expect(textOf(client.callTool('greet_once'))).rejects.toThrow('set safeToRerun of the tool');
    const session = await connected(url, { eras: 'legacy' });
    expect(await textOf(session.callTool('greet_once'))).toBe('Hello Ada');
  });

  test.each<ClientKind>(['sdk 1.x', 'client 2.x legacy', 'client 2.x modern'])(
    'serves the official %s',
    async (kind) => {
      const { url } = await runWorker(WORKER);
      const client = await connectOfficial(kind, 'http', { stdio: [], url, sseUrl: '' });
      onTestFinished(() => client.close());
      const added = await client.callTool({ name: 'add', arguments: { a: 40, b: 2 } });
      expect(added['structuredContent']).toEqual({ sum: 42 });
      const greeting = await client.callTool({ name: 'greet', arguments: {} });
      expect(greeting['content']).toEqual([{ type: 'text', text: 'Hello Ada' }]);
      const unsubscribe = await client.subscribe('test://counter');
      await client.callTool({ name: 'touch', arguments: {} });
      await client.notice('notifications/resources/updated', ({ uri }) => uri === 'test://counter');
      await unsubscribe();
    },
  );
});

describeInWorkerd('our client in workerd', () => {
  test.each(ERAS)('uses a %s server', async (eras, revision) => {
    const server = await runWorker(WORKER);
    const { url } = await runWorker(`
      import { connect } from 'everwire/client';
      export default {
        async fetch() {
          const onelicit = () => ({ action: 'accept', content: { name: 'Ada' } });
          const client = await connect('${server.url}', { eras: '${eras}', onelicit });
          const steps = [];
          const onprogress = ({ progress }) => steps.push(progress);
          const { structuredContent } = await client.callTool('add', { a: 40, b: 2 }, { onprogress });
          const { content: [greeting] } = await client.callTool('greet');
          const { revision } = client;
          await client.close();
          return Response.json({ revision, structuredContent, steps, greeting: greeting.text });
        },
      };
    `);
    const used: unknown = await (await fetch(url)).json();
    expect(used).toEqual({ revision, structuredContent: { sum: 42 }, steps: [1, 2], greeting: 'Hello Ada' });
  });
});

describeInWorkerd('isolates with the same key', () => {
  /** A `fetch` that sends each request to another isolate than the last one. */
  function alternating(isolates: readonly RunningWorker[]): typeof fetch {
    let count = 0;
    return (input, init) => {
      const { origin } = new URL(isolates[count++ % isolates.length]!.url);
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      return fetch(`${origin}${pathname}`, init);
    };
  }

  test.each(ERAS)('serve a %s client together', async (eras) => {
    const isolates = [await runWorker(LIBRARY, { bindings: ENV }), await runWorker(LIBRARY, { bindings: ENV })];
    const client = await connected(isolates[0]!.url, { eras, fetch: alternating(isolates) });
    for (let call = 0; call < 4; call += 1)
      expect(await textOf(client.callTool('opening_hours'))).toBe('Monday to Saturday, 9 to 17');
  });

  test('run a handler that asks again, wherever the answer arrives', async () => {
    const isolates = [await runWorker(LIBRARY, { bindings: ENV }), await runWorker(LIBRARY, { bindings: ENV })];
    const client = await connected(isolates[0]!.url, { eras: 'modern', fetch: alternating(isolates) });
    const reserved = await textOf(client.callTool('reserve', { title: 'Momo' }));
    expect(reserved).toMatch(/^Reserved for Ada: [\da-f-]{36}$/);
  });
});
