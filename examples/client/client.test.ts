import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, type Client } from 'everwire/client';
import { McpServer } from 'everwire/server';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { root } from '../../test/support/process.ts';
import { filesShownIn } from '../../test/support/shown.ts';
import { server as resources, pinUp } from '../guide/resources.ts';
import { server as tools } from '../guide/tools.ts';
import { server as printer } from '../tasks.ts';
import { dust, yearOf } from './calls.ts';
import { follow, watchTools } from './changes.ts';
import { openingHours } from './first.ts';
import { timed } from './middleware.ts';
import { connectFor, type Prompter } from './questions.ts';
import { toAddress, toCommand, toServer } from './targets.ts';
import { pickUp, print, startPrinting } from './tasks.ts';

describe('the client guide', () => {
  const files = filesShownIn('docs/client.md');

  test('shows every file here, once', () => {
    const here = readdirSync(new URL('.', import.meta.url)).filter((name) => !name.endsWith('.test.ts'));
    const paths = here.map((name) => `examples/client/${name}`);
    expect(files.map(({ file }) => file).toSorted((a, b) => a.localeCompare(b))).toEqual(
      paths.toSorted((a, b) => a.localeCompare(b)),
    );
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

/** Closes a client when its test is over. */
async function open(connecting: Client | Promise<Client>): Promise<Client> {
  const client = await connecting;
  onTestFinished(() => client.close());
  return client;
}

const library = (): McpServer => {
  const server = new McpServer({ name: 'library', version: '1.0.0' });
  server.tool('opening_hours', {}, () => 'Monday to Saturday, 9 to 17');
  return server;
};

test('the first example calls a tool at a URL', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const { url, close } = await library().listen({ port: 0 });
  onTestFinished(() => close(0));
  expect(await openingHours(url)).toBe('Monday to Saturday, 9 to 17');
  expect(log).toHaveBeenCalledWith('library has 1 tools, and speaks 2026-07-28');
});

test('a command, a URL with a key and a server are targets', async () => {
  const command = await open(toCommand(`${root}dist/examples/guide/stdio.js`));
  expect(await command.listTools()).toMatchObject([{ name: 'opening_hours' }]);
  const keys: unknown[] = [];
  const server = library();
  const listener = createServer((request, response) => {
    keys.push(request.headers['x-api-key']);
    server.node(request, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const { port } = listener.address() as AddressInfo;
  const remote = await open(toAddress(`http://127.0.0.1:${port}/mcp`, 'k'));
  await remote.ping();
  expect(new Set(keys)).toEqual(new Set(['k']));
  const local = await open(toServer());
  expect(await local.callTool('time')).toMatchObject({ content: [{ type: 'text' }] });
});

test('results are checked, calls have time limits, and each error is recognized', async () => {
  expect(await yearOf(await open(connect(tools)), 'Momo')).toBe(1973);
  const dusting = library();
  dusting.tool('dust', { input: { type: 'object' } }, async (_, context) => {
    await context.progress(1, 3);
    return 'clean';
  });
  const client = await open(connect(dusting));
  const log = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => log.mockRestore());
  expect(await dust(client, new AbortController().signal)).toBe('done');
  expect(log).toHaveBeenCalledWith('1 of 3');
  await expect(dust(client, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  await client.close();
  expect(await dust(client, new AbortController().signal)).toContain('connection failed');
  const empty = await open(connect(library()));
  expect(await dust(empty, new AbortController().signal)).toContain('refused with -32602');
});

test('the user is asked', async () => {
  const server = new McpServer({ name: 'asking', version: '1.0.0' });
  server.tool('ask', {}, async (_, context) => {
    const form = await context.elicit({
      message: 'Who?',
      schema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    const payment = await context.elicitUrl({ message: 'Pay', url: 'https://pay.example/' });
    const sample = await context.sample({ messages: [], maxTokens: 1 });
    return JSON.stringify([form.content, payment.action, sample.model, await context.roots()]);
  });
  const prompter: Prompter = {
    confirm: async (question) => !question.includes('https://pay.example/'),
    fillIn: async (_, fields) => Object.fromEntries(fields.map((field) => [field, 'Ada'])),
  };
  const client = await open(connectFor(prompter, server));
  expect(await client.callTool('ask')).toMatchObject({
    content: [{ text: '[{"name":"Ada"},"decline","a-model",[{"uri":"file:///home/ada/project","name":"project"}]]' }],
  });
});

test('changes are followed', async () => {
  const server = library();
  const shown: string[][] = [];
  await open(watchTools(server, (names) => shown.push(names)));
  server.tool('ring', {}, () => '');
  await vi.waitFor(() => expect(shown).toEqual([['opening_hours'], ['opening_hours', 'ring']]));
  const notices: string[] = [];
  await follow(await open(connect(resources)), 'library://notices', (text) => notices.push(text));
  pinUp('Closed for the summer.');
  await vi.waitFor(() => expect(notices.join('\n')).toContain('Closed for the summer.'));
});

test('a client waits for a task, or gets its result later', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const onelicit = () => ({ action: 'accept', content: { colour: 'red' } }) as const;
  const client = await open(connect(printer, { onelicit }));
  expect(await print(client, 'Momo')).toBe(true);
  const id = await startPrinting(client, 'Momo');
  const other = await open(connect(printer, { onelicit }));
  expect(await pickUp(other, id!, new AbortController().signal)).toMatchObject({ text: 'Printed, in red.' });
});

test('middleware sees each request', async () => {
  const record = vi.fn<(method: string, duration: number) => void>();
  const client = timed(await open(connect(library())), record);
  await client.callTool('opening_hours');
  expect(record).toHaveBeenCalledWith('tools/call', expect.any(Number));
});
