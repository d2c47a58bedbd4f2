import { createServer } from 'node:http';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from 'everwire/client';
import { RawClient } from '../interop/raw-client.ts';
import {
  descendants,
  eventually,
  programs,
  root,
  startNode,
  startServer,
  type RunningServer,
} from '../support/process.ts';

/** Servers that end each subscription with a response, and restart at the same address. */

type Eras = 'modern' | 'legacy';

const servers: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function started(words: readonly string[]): Promise<RunningServer> {
  const server = await startServer(words);
  servers.push(server);
  return server;
}

const serverOf = (eras: Eras, port = '0'): Promise<RunningServer> =>
  started([`${root}test/fixtures/restarting.mjs`, port, eras]);

const bridgeTo = ({ url }: RunningServer, port = '0'): Promise<RunningServer> =>
  started([...programs.everwire, 'bridge', '--port', port, url]);

const portOf = ({ url }: RunningServer): string => new URL(url).port;

async function touch({ url }: RunningServer): Promise<void> {
  expect((await fetch(new URL('/touch', url), { method: 'POST' })).status).toBe(200);
}

/** The number of changes of the resource that our client was notified of. */
async function listening(url: string): Promise<() => number> {
  const client = await connect(url, { onerror: () => {} });
  onTestFinished(() => client.close());
  let heard = 0;
  await client.subscribe('state:now', () => (heard += 1));
  return () => heard;
}

/** The same for a session of 2025-11-25. */
async function session({ url, sseUrl }: RunningServer): Promise<() => number> {
  const client = await RawClient.connect('2025-11-25', 'http', { stdio: [], url, sseUrl });
  onTestFinished(() => client.close().catch(() => {}));
  await client.request('resources/subscribe', { uri: 'state:now' });
  return () => client.notices.filter(({ method }) => method === 'notifications/resources/updated').length;
}

/** The client is notified that it may have missed changes, and then of the next change, without any call. */
async function expectNextChange(server: RunningServer, heard: () => number): Promise<void> {
  await eventually(() => heard() === 1, 'what may have been missed is told');
  await touch(server);
  await eventually(() => heard() === 2, 'the next change is heard');
}

describe('a subscriber of a server that restarts', () => {
  test.each<Eras>(['modern', 'legacy'])('gets its changes again (%s)', async (eras) => {
    const server = await serverOf(eras);
    const heard = await listening(server.url);
    await server.stop();
    await expectNextChange(await serverOf(eras, portOf(server)), heard);
  });

  test.each<Eras>(['modern', 'legacy'])('gets its changes again through a bridge (%s)', async (eras) => {
    const server = await serverOf(eras);
    const heard = await listening((await bridgeTo(server)).url);
    await server.stop();
    await expectNextChange(await serverOf(eras, portOf(server)), heard);
  });

  test.each<Eras>(['modern', 'legacy'])('gets its changes again in a session of a bridge (%s)', async (eras) => {
    const server = await serverOf(eras);
    const heard = await session(await bridgeTo(server));
    await server.stop();
    await expectNextChange(await serverOf(eras, portOf(server)), heard);
  });

  test.each<[Eras, Eras]>([
    ['modern', 'legacy'],
    ['legacy', 'modern'],
  ])('gets its changes again if the server was %s and is now %s', async (before, after) => {
    const server = await serverOf(before);
    const bridge = await bridgeTo(server);
    const heard = [await listening(server.url), await listening(bridge.url), await session(bridge)];
    await server.stop();
    const next = await serverOf(after, portOf(server));
    for (const each of heard) await eventually(() => each() > 0, 'what may have been missed is told');
    const missed = heard.map((each) => each());
    await touch(next);
    await eventually(() => heard.every((each, n) => each() > missed[n]!), 'the next change is heard');
  });

  test('also gets changes after the bridge itself was restarted', async () => {
    const server = await serverOf('modern');
    const bridge = await bridgeTo(server);
    const heard = await listening(bridge.url);
    await bridge.stop();
    await bridgeTo(server, portOf(bridge));
    await expectNextChange(server, heard);
  });
});

describe('everwire listen', () => {
  const lost = /^everwire: Subscriptions were lost and will be opened again: /;
  const listeningTo = async (server: RunningServer) => {
    const command = startNode([...programs.everwire, 'listen', server.url, 'state:now']);
    onTestFinished(() => void command.stop());
    await command.line(/listening to state:now/);
    return command;
  };
  const updates = ({ stdout }: { stdout: readonly string[] }): number =>
    stdout.filter((line) => line === 'updated state:now').length;

  test('continues with the restarted server, and reports it', async () => {
    const server = await serverOf('modern');
    const command = await listeningTo(server);
    await server.stop();
    await command.line(lost);
    const next = await serverOf('modern', portOf(server));
    await expectNextChange(next, () => updates(command));
    expect(command.child.exitCode).toBe(null);
  });

  test('says once that the session is lost', async () => {
    const server = await serverOf('legacy');
    const command = await listeningTo(server);
    await server.stop();
    const next = await serverOf('legacy', portOf(server));
    await expectNextChange(next, () => updates(command));
    expect(command.stderr.filter((line) => lost.test(line))).toEqual([
      'everwire: Subscriptions were lost and will be opened again: The server no longer knows the session',
    ]);
  });

  test('ends with an error if the server is a command, which is not started again', async () => {
    const mortal = `${root}test/fixtures/mortal.mjs`;
    const command = startNode([...programs.everwire, 'listen', 'mortal://a', '--', process.execPath, mortal]);
    onTestFinished(() => void command.stop());
    await command.line(/listening to mortal:/);
    for (const pid of descendants(command.pid)) process.kill(pid, 'SIGKILL');
    expect(await command.exited).toEqual({ code: 3, signal: null });
    expect(command.stderr.at(-1)).toMatch(/SIGKILL/);
  });

  test('ends with an error if the restarted server refuses', async () => {
    const server = await serverOf('modern');
    const command = startNode([...programs.everwire, 'listen', server.url, 'state:now']);
    onTestFinished(() => void command.stop());
    await command.line(/listening to state:now/);
    await server.stop();
    const http = createServer((_, response) => response.writeHead(403).end());
    onTestFinished(() => void http.close());
    await new Promise<void>((resolve) => http.listen(Number(portOf(server)), '127.0.0.1', resolve));
    expect(await command.exited).toEqual({ code: 4, signal: null });
    expect(command.stderr.at(-1)).toContain('403');
  });
});
