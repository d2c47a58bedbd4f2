import { expect, onTestFinished, test } from 'vitest';
import { McpServer } from '../../src/server/index.ts';
import { v1Http, v1Sse, v2Http, v2HttpSession } from '../interop/client/official-servers.ts';
import { frontDoor } from '../support/front-door.ts';
import { describeInBrowser } from './support/browser.ts';
import { openClientPage } from './support/client-page.ts';

const SCRIPT = `
  import { connect } from 'everwire/client';

  const text = ({ content: [first] }) => first.text;

  /** Uses all that goes over streams. */
  globalThis.use = async (target, options) => {
    const questions = [];
    const changed = new Map();
    const changeOf = (type) => new Promise((resolve) => changed.set(type, resolve));
    const client = await connect(target, {
      ...options,
      onelicit: ({ message }) => {
        questions.push(message);
        return { action: 'accept', content: { name: 'Ada' } };
      },
      onchange: ({ type }) => changed.get(type)?.(type),
    });
    const { structuredContent: sum } = await client.callTool('add', { a: 40, b: 2 });
    const steps = [];
    await client.callTool('count', { to: 3 }, { onprogress: ({ progress }) => steps.push(progress) });
    const stop = new AbortController();
    const waiting = client.callTool('wait', {}, { signal: stop.signal, onprogress: () => stop.abort() });
    const cancelled = await waiting.catch(({ name }) => name);
    while (text(await client.callTool('cancellations')) !== '1');
    const answer = options.asks === false ? undefined : text(await client.callTool('ask'));
    let updated;
    if (options.notifies !== false) {
      const told = new Promise((resolve) => (updated = resolve));
      await client.subscribe('feature://fixed', () => updated());
      await client.callTool('touch', { uri: 'feature://fixed' });
      await told;
      const tools = changeOf('tools');
      await client.callTool('grow', { name: 'new' });
      await tools;
    }
    const { revision } = client;
    await client.close();
    return { revision, sum, steps, cancelled, questions: questions.length, answer };
  };

  /** Begins a long call, whose result is in \`call\`. Resolves when it makes progress. */
  globalThis.begin = async (target) => {
    const client = await connect(target, { eras: 'legacy' });
    const steps = [];
    let begun;
    const progress = new Promise((resolve) => (begun = resolve));
    globalThis.call = client
      .callTool('finish', {}, { onprogress: (step) => { steps.push(step.progress); begun(); } })
      .then(async (result) => {
        await client.close();
        return { steps, result: text(result) };
      });
    await progress;
  };
`;

interface PageGlobals {
  readonly use: (target: unknown, options: object) => Promise<Record<string, unknown>>;
  readonly begin: (target: string) => Promise<void>;
  readonly call: Promise<unknown>;
}

/** Our server, with the tools of the official ones. */
async function ours(origin: string): Promise<string> {
  const server = new McpServer({ name: 'ours', version: '1.0.0', http: { allowedOrigins: [origin] } });
  const sum = { type: 'object', properties: { result: { type: 'number' } }, required: ['result'] } as const;
  const pair = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } } as const;
  server.tool('add', { input: pair, output: sum }, ({ a = 0, b = 0 }) => ({ result: a + b }));
  const to = { type: 'object', properties: { to: { type: 'number' } } } as const;
  server.tool('count', { input: to }, async ({ to: last = 0 }, ctx) => {
    for (let step = 1; step <= last; step += 1) await ctx.progress(step, last);
    return 'counted';
  });
  let cancelled = 0;
  server.tool('wait', {}, async (_, ctx) => {
    await ctx.progress(1);
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
    cancelled += 1;
    return 'never seen';
  });
  server.tool('cancellations', {}, () => `${cancelled}`);
  const name = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;
  server.tool('ask', {}, async (_, ctx) => JSON.stringify(await ctx.elicit({ message: 'Who?', schema: name })));
  server.resource('feature://fixed', { name: 'fixed' }, () => 'A text.');
  server.tool('touch', {}, () => {
    server.resourceUpdated('feature://fixed');
    return 'touched';
  });
  server.tool('grow', {}, () => {
    server.tool('new', {}, () => 'new');
    return 'grown';
  });
  const listener = await server.listen({ port: 0 });
  onTestFinished(() => server.close(0));
  return listener.url;
}

/** An official server, behind something that adds CORS, as middleware of the application would. */
async function official(start: () => ReturnType<typeof v1Http>, origin: string): Promise<string> {
  const { target, stop } = await start();
  onTestFinished(async () => void (await stop()));
  return (await frontDoor(target as string, origin)).url;
}

const SESSION = { revision: '2025-11-25', questions: 1 };
const MODERN = { revision: '2026-07-28', questions: 1 };

describeInBrowser('a page uses a server of another origin', (browser) => {
  test.each([
    ['ours, 2026-07-28', ours, { eras: 'modern' }, MODERN],
    ['ours, 2025-11-25', ours, { eras: 'legacy' }, SESSION],
    ['the official SDK 1.x', (origin: string) => official(v1Http, origin), {}, SESSION],
    ['the official SDK 1.x, HTTP+SSE', (origin: string) => official(v1Sse, origin), { transport: 'sse' }, SESSION],
    ['the official SDK 2.x', (origin: string) => official(() => v2Http('reject'), origin), {}, MODERN],
    [
      'the official SDK 2.x, sessions',
      (origin: string) => official(v2HttpSession, origin),
      { eras: 'legacy' },
      SESSION,
    ],
  ] as const)(
    '%s',
    async (_name, start, { transport, ...options }: { transport?: string; eras?: string }, expected) => {
      const { page, origin, errors } = await openClientPage(browser(), { '/': SCRIPT });
      const url = await start(origin);
      const target = transport === undefined ? url : { url, transport };
      const used = await page.evaluate(([to, given]) => (globalThis as unknown as PageGlobals).use(to, given), [
        target,
        options,
      ] as const);
      expect(used).toMatchObject({ sum: { result: 42 }, steps: [1, 2, 3], cancelled: 'AbortError', ...expected });
      expect(String(used['answer'])).toContain('Ada');
      expect(errors).toEqual([]);
    },
  );

  test('resumes a stream that was interrupted', async () => {
    const { page, origin } = await openClientPage(browser(), { '/': SCRIPT });
    const server = new McpServer({ name: 'ours', version: '1.0.0', http: { allowedOrigins: [origin] } });
    let go!: () => void;
    const released = new Promise<void>((resolve) => (go = resolve));
    server.tool('finish', {}, async (_, ctx) => {
      await ctx.progress(1, 2);
      await released;
      await ctx.progress(2, 2);
      return 'finished';
    });
    const listener = await server.listen({ port: 0 });
    onTestFinished(() => server.close(0));
    const door = await frontDoor(listener.url);
    await page.evaluate((to) => (globalThis as unknown as PageGlobals).begin(to), door.url);
    door.cut();
    go();
    expect(await page.evaluate(() => (globalThis as unknown as PageGlobals).call)).toEqual({
      steps: [1, 2],
      result: 'finished',
    });
  });
});
