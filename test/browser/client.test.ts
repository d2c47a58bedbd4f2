import type { Browser } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { describeInBrowser } from './support/browser.ts';
import { openClientPage } from './support/client-page.ts';
import { McpServer } from '../../src/server/index.ts';

/** What the page does. It is bundled from the built package. */
const SCRIPT = `
  import { connect } from 'everwire/client';
  globalThis.connect = connect;
  globalThis.use = async (target, options) => {
    const logs = [];
    const client = await connect(target, {
      ...options,
      onlog: ({ data }) => logs.push(data),
      onelicit: ({ message }) => ({ action: 'accept', content: { name: message + ' Ada' } }),
    });
    const tools = await client.listTools();
    const progress = [];
    const sum = await client.callTool('add', { a: 40, b: 2 }, { onprogress: ({ progress: at }) => progress.push(at) });
    const greeting = await client.callTool('greet', { region: 'Köln' });
    const { revision } = client;
    await client.close();
    return { revision, tools: tools.map(({ name }) => name), sum: sum.structuredContent, progress, logs, greeting: greeting.content };
  };
`;

interface Used {
  readonly revision: string;
}

type PageGlobals = {
  readonly use: (target: unknown, options: object) => Promise<Used>;
  readonly connect: (target: unknown, options?: object) => Promise<unknown>;
};

const pageWithClient = (browser: Browser) => openClientPage(browser, { '/': SCRIPT });

/** A server that pages of this origin may use. */
async function serverFor(origin: string): Promise<string> {
  const server = new McpServer({ name: 'remote', version: '1.0.0', http: { allowedOrigins: [origin] } });
  const sum = { type: 'object', properties: { result: { type: 'integer' } }, required: ['result'] } as const;
  const numbers = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } } as const;
  server.tool('add', { input: numbers, output: sum }, async ({ a = 0, b = 0 }, ctx) => {
    await ctx.progress(1);
    return { result: a + b };
  });
  const region = {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  } as const;
  const name = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;
  server.tool('greet', { input: region }, async (args, ctx) => {
    const answer = await ctx.elicit({ message: 'I am', schema: name });
    return `${String(answer.action === 'accept' && answer.content.name)} from ${args.region}`;
  });
  const listener = await server.listen({ port: 0 });
  onTestFinished(() => server.close(0));
  return listener.url;
}

const expected = {
  tools: ['add', 'greet'],
  sum: { result: 42 },
  progress: [1],
  greeting: [{ type: 'text', text: 'I am Ada from Köln' }],
};

describeInBrowser('a page with the client', (browser) => {
  test.each([
    ['modern', '2026-07-28'],
    ['legacy', '2025-11-25'],
  ])('uses a %s server of another origin', async (eras, revision) => {
    const { page, origin, errors } = await pageWithClient(browser());
    const url = await serverFor(origin);
    const used = await page.evaluate(
      ([target, only]) => (globalThis as unknown as PageGlobals).use(target, { eras: only }),
      [url, eras],
    );
    expect(used).toMatchObject({ ...expected, revision });
    expect(errors).toEqual([]);
  });

  test('uses HTTP+SSE', async () => {
    const { page, origin } = await pageWithClient(browser());
    const url = new URL('/sse', await serverFor(origin)).href;
    const used = await page.evaluate(
      (target) => (globalThis as unknown as PageGlobals).use({ url: target, transport: 'sse' }, {}),
      url,
    );
    expect(used).toMatchObject({ ...expected, revision: '2025-11-25' });
  });

  test.each([
    [{ command: 'node' }, {}, '"node" cannot be started here; connect to a URL'],
    ['http://127.0.0.1:1/mcp', { proxy: 'http://127.0.0.1:2' }, '"proxy" needs Node'],
  ])('learns what a browser cannot do: %j %j', async (target, options, message) => {
    const { page } = await pageWithClient(browser());
    const failure = await page.evaluate(
      ([to, given]) =>
        (globalThis as unknown as PageGlobals).connect(to, given).then(
          () => 'connected',
          (error: Error) => error.message,
        ),
      [target, options] as const,
    );
    expect(failure).toContain(message);
  });

  test('fails with an error that names CORS if the server does not allow its origin', async () => {
    const { page } = await pageWithClient(browser());
    const url = await serverFor('https://other.example');
    const failure = await page.evaluate(
      (target) =>
        (globalThis as unknown as PageGlobals).connect(target).then(
          () => 'connected',
          (error: Error) => error.message,
        ),
      url,
    );
    expect(failure).toMatch(/CORS/);
  });
});
