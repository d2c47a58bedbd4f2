import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { RawClient } from '../interop/raw-client.ts';
import { bridged } from '../interop/servers.ts';
import {
  descendants,
  eventually,
  programs,
  root,
  startNode,
  startServer,
  type RunningServer,
} from '../support/process.ts';

type JsonObject = Record<string, any>;

let server: RunningServer | undefined;
const clients: RawClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close().catch(() => {})));
  await server?.stop();
});

async function connect(kind: 'http' | 'sse', { url, sseUrl }: RunningServer): Promise<RawClient> {
  const client = await RawClient.connect('2025-11-25', kind, { stdio: [], url, sseUrl });
  clients.push(client);
  return client;
}

async function pidOf(client: RawClient): Promise<number> {
  return JSON.parse((await client.callTool({ name: 'health' }))['content'][0].text).pid;
}

/** Starts a call that never ends. Resolves when it runs. */
async function begin(client: RawClient): Promise<{ answer: Promise<JsonObject> }> {
  return new Promise((resolve) => {
    const answer = client.callTool({ name: 'wait' }, { onprogress: () => resolve({ answer }) });
    answer.catch(() => {});
  });
}

describe.each([
  ['a child for each client', []],
  ['one child for all clients', ['--shared']],
])('a bridge with %s', (_, options) => {
  const { http } = bridged([...programs.features, '--stdio'], ...options);

  test.each(['http', 'sse'] as const)(
    'fails a call at once if the child is killed, and continues (%s)',
    async (kind) => {
      server = await startServer(http);
      const client = await connect(kind, server);
      await client.methods.setLoggingLevel('warning');
      await client.methods.subscribeResource({ uri: 'feature://fixed' });
      const { answer } = await begin(client);
      const pid = await pidOf(client);

      process.kill(pid, 'SIGKILL');
      const error = await answer.then(
        () => undefined,
        (reason: Error & { code?: number }) => reason,
      );
      expect(error).toMatchObject({ code: -32000, message: expect.stringMatching(/SIGKILL/) });

      // The next request starts the child again, and the client does not notice.
      expect(await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject({
        structuredContent: { result: 3 },
      });
      expect(await pidOf(client)).not.toBe(pid);

      // The subscription and the log level are the same as before.
      const from = client.notices.length;
      await eventually(async () => {
        await client.callTool({ name: 'touch', arguments: { uri: 'feature://fixed' } });
        return client.notices.slice(from).some(({ method }) => method === 'notifications/resources/updated');
      }, 'the subscription goes on');
      await client.callTool({ name: 'log', arguments: { level: 'info', data: 'too quiet' } });
      await client.callTool({ name: 'log', arguments: { level: 'error', data: 'loud enough' } });
      await client.notice('notifications/message', ({ data }) => data === 'loud enough');
      expect(client.notices.filter(({ params }) => params?.['data'] === 'too quiet')).toEqual([]);
    },
  );

  test('continues to serve if its child exits again and again', async () => {
    server = await startServer(http);
    const client = await connect('http', server);
    for (let round = 0; round < 4; round += 1) {
      const pid = await pidOf(client);
      process.kill(pid, 'SIGKILL');
      // A request that arrives before the bridge notices the exit would fail with the child.
      const told = (): boolean => server!.stderr.filter((line) => line.includes('was lost')).length > round;
      await eventually(told, 'the bridge says that it has lost the child');
    }
    expect(await client.methods.ping()).toEqual({});
    await pidOf(client);
    expect(descendants(server.pid)).toHaveLength(1);
  });

  test('ends the child with its session', async () => {
    server = await startServer(http);
    const [first, second] = [await connect('http', server), await connect('sse', server)];
    await Promise.all([pidOf(first), pidOf(second)]);
    const shared = options.length > 0;
    expect(descendants(server.pid)).toHaveLength(shared ? 1 : 2);
    await first.close();
    await second.close();
    await eventually(() => descendants(server!.pid).length === (shared ? 1 : 0), 'no child is left over');
  });
});

test('a killed child does not affect another session', async () => {
  server = await startServer(bridged([...programs.features, '--stdio']).http);
  const [one, other] = [await connect('http', server), await connect('http', server)];
  const sleeping = other.callTool({ name: 'sleep', arguments: { ms: 300 } });
  process.kill(await pidOf(one), 'SIGKILL');
  expect(await sleeping).toMatchObject({ content: [{ text: 'slept 300 ms' }] });
});

test('a question that waits for its answer is cancelled if the child exits', async () => {
  server = await startServer(bridged([...programs.features, '--stdio']).http);
  const client = await connect('http', server);
  const pid = await pidOf(client);
  client.answers.elicitation = () => {
    process.kill(pid, 'SIGKILL');
    return { action: 'cancel' };
  };
  const error = await client.callTool({ name: 'ask' }).catch((reason: Error) => reason);
  expect(error).toMatchObject({ code: -32000 });
  expect(await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject({
    structuredContent: { result: 3 },
  });
});

test('a program goes on if nobody can read its stderr, and so does its child, whatever that prints', async () => {
  const child = `
    import { writeSync } from 'node:fs';
    const { McpServer } = await import(${JSON.stringify(`${root}dist/lib/server.js`)});
    const server = new McpServer({ name: 'loud', version: '1.0.0' });
    server.tool('shout', {}, () => String(writeSync(2, 'x'.repeat(1_000_000))));
    await server.stdio();`;
  const program = `
    const { connect } = await import(${JSON.stringify(`${root}dist/lib/client.js`)});
    const args = ['--input-type=module', '-e', ${JSON.stringify(child)}];
    const client = await connect({ command: process.execPath, args });
    for (let n = 0; n < 3; n += 1) console.log((await client.callTool('shout')).content[0].text);
    await client.close();`;
  const running = startNode(['--input-type=module', '-e', program]);
  onTestFinished(() => void running.stop());
  running.child.stderr!.destroy();
  expect(await running.exited).toEqual({ code: 0, signal: null });
  expect(running.stdout).toEqual(['1000000', '1000000', '1000000']);
});
