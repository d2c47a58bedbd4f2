import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { connect } from '../../src/client/connect.ts';
import type { Change } from '../../src/client/handlers.ts';
import type { ClientOptions } from '../../src/client/options.ts';
import { programs, root } from '../support/process.ts';
import { textOf } from '../support/reader.ts';

async function start(args: readonly string[], options: ClientOptions = {}): Promise<Client> {
  const client = await connect(
    { command: process.execPath, args, stderr: 'capture' },
    { onerror: () => {}, ...options },
  );
  onTestFinished(() => client.close());
  return client;
}

const filesystem = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));
const memory = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'));

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'everwire-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

describe('server-everything', () => {
  test('is listed, called, read and asked for prompts and completions', async () => {
    const client = await start(programs.everything);
    expect(client.revision).toBe('2025-11-25');
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('get-sum');
    expect(textOf(await client.callTool('get-sum', { a: 2, b: 4 }))).toContain('6');
    const structured = await client.callTool('get-structured-content', { location: 'New York' });
    expect(structured.structuredContent).toHaveProperty('temperature');
    const [resource] = await client.listResources();
    expect((await client.readResource(resource!.uri)).contents).not.toHaveLength(0);
    const { messages } = await client.getPrompt('args-prompt', { city: 'Bern' });
    expect(JSON.stringify(messages)).toContain('Bern');
    await client.ping();
  });

  test('reports progress, and asks', async () => {
    const client = await start(programs.everything, {
      onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
      onsample: () => ({ role: 'assistant', model: 'small', content: { type: 'text', text: 'a sampled text' } }),
    });
    const onprogress = vi.fn<() => void>();
    await client.callTool('trigger-long-running-operation', { duration: 0.2, steps: 2 }, { onprogress });
    expect(onprogress).toHaveBeenCalledTimes(2);
    const sampled = await client.callTool('trigger-sampling-request', { prompt: 'x', maxTokens: 5 });
    expect(JSON.stringify(sampled)).toContain('a sampled text');
    expect(JSON.stringify(await client.callTool('trigger-elicitation-request'))).toContain('Ada');
  });
});

test('server-filesystem reads files below its client’s roots', async () => {
  const here = folder();
  writeFileSync(path.join(here, 'note.txt'), 'hello');
  const client = await start([filesystem, here]);
  await client.listTools();
  expect(textOf(await client.callTool('read_text_file', { path: path.join(here, 'note.txt') }))).toBe('hello');
  expect(await client.callTool('read_text_file', { path: '/etc/hostname' })).toMatchObject({ isError: true });
});

test('server-memory keeps its graph', async () => {
  const file = path.join(folder(), 'memory.json');
  const client = await connect({
    command: process.execPath,
    args: [memory],
    env: { MEMORY_FILE_PATH: file },
    stderr: 'ignore',
  });
  onTestFinished(() => client.close());
  await client.listTools();
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes'] }];
  await client.callTool('create_entities', { entities });
  const graph = await client.callTool<{ entities: unknown[] }>('read_graph');
  expect(graph.structuredContent?.entities).toMatchObject(entities);
});

describe('a command that exits', () => {
  const mortal = `${root}test/fixtures/mortal.mjs`;
  const pidOf = async (client: Client): Promise<number> => Number(textOf(await client.callTool('pid')));

  test('is started once, and again for the next call', async () => {
    const client = await start([mortal]);
    const first = await pidOf(client);
    expect(await pidOf(client)).toBe(first);
    const hanging = client.callTool('hang').catch((error: unknown) => error);
    await expect(client.callTool('die')).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringMatching(/exited with code 4/),
    });
    expect(await hanging).toMatchObject({ name: 'ConnectionError' });
    const second = await pidOf(client);
    expect(second).not.toBe(first);
    expect(client.closed).toBe(false);
  });

  test('is not started again if that is disabled', async () => {
    const client = await start([mortal], { restart: false });
    await expect(client.callTool('die')).rejects.toMatchObject({ name: 'ConnectionError' });
    await expect(client.callTool('pid')).rejects.toMatchObject({ name: 'ConnectionError' });
    expect(client.closed).toBe(true);
  });

  test('gets a repeated request if that only reads, once', async () => {
    const client = await start([mortal]);
    const first = await pidOf(client);
    await expect(client.readResource('mortal://once')).rejects.toMatchObject({ name: 'ConnectionError' });
    expect(await pidOf(client)).not.toBe(first);
  });

  test('is subscribed to again', async () => {
    const client = await start([mortal]);
    const changes: Change[] = [];
    const subscription = await client.subscribe('mortal://a', (change) => changes.push(change));
    await client.callTool('touch');
    await vi.waitFor(() => expect(changes).toHaveLength(1));
    await client.callTool('die').catch(() => {});
    await vi.waitFor(async () => {
      await client.callTool('touch');
      expect(changes.length).toBeGreaterThan(1);
    });
    await subscription.close();
  });

  test('reports why it cannot be started', async () => {
    await expect(start([mortal, 'dead'])).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringMatching(/exited with code 3: no license found/),
    });
    await expect(connect({ command: 'no-such-command-here' })).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringContaining('command not found'),
    });
  });

  test('can be cancelled by a signal, or times out', async () => {
    const silent = ['-e', 'setInterval(() => {}, 1000)'];
    const reason = new Error('changed my mind');
    const controller = new AbortController();
    const starting = start(silent, { signal: controller.signal });
    controller.abort(reason);
    await expect(starting).rejects.toBe(reason);
    await expect(start(silent, { connectTimeout: 300 })).rejects.toMatchObject({ name: 'TimeoutError', limit: 300 });
  });
});
