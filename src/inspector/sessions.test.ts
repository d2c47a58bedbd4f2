import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/support/command-line.ts';
import { connect } from '../client/connect.ts';
import { Capture } from '../inspect/capture.ts';
import { recordingSource } from '../inspect/page-server/recording-source.ts';
import { recordToFile } from '../inspect/record-to-file.ts';
import { McpServer } from '../server/index.ts';
import { Sessions } from './sessions.ts';

/** A server whose tool waits until it is cancelled. */
function serverOf(answer: string, onwait?: () => void): McpServer {
  const server = new McpServer({ name: 'compared', version: '1.0.0' });
  server.tool('say', { annotations: { readOnlyHint: true } }, (_, { signal }) => {
    if (!onwait) return answer;
    onwait();
    return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('')));
  });
  return server;
}

async function served(server: McpServer): Promise<string> {
  const listener = await server.listen({ port: 0 });
  onTestFinished(() => listener.close());
  return listener.url;
}

/** A file with a session. */
async function recorded(answer: string): Promise<string> {
  const file = path.join(temporaryFolder(), 'session.mcpcap');
  const capture = new Capture();
  const recording = await recordToFile(capture, file, { onerror: () => {} });
  const client = await connect(await served(serverOf(answer)), { wiretap: capture, revision: '2025-11-25' });
  await client.callTool('say');
  await client.close();
  await recording.close();
  return file;
}

test('a recording that is shown is compared with another one, and not replayed', async () => {
  const sessions = new Sessions(await recordingSource(await recorded('one'), () => {}));
  const other = readFileSync(await recorded('two'), 'utf8');
  const { counts, notes } = await sessions.compareSessions({ after: other, ignore: [] });
  expect(counts).toMatchObject({ changed: 1, missing: 0, new: 0 });
  expect(notes).toEqual([]);
  const cut = await sessions.compareSessions({ before: other, after: other.slice(0, -10), ignore: [] });
  expect(cut.notes).toEqual(['The second session ends with an incomplete line.']);
  await expect(sessions.compareSessions({ before: other, after: other, ignore: ['no pointer'] })).rejects.toThrow(
    /no pointer/,
  );
  await expect(sessions.replaySession({ ignore: [], call: [] })).rejects.toThrow(
    'A recording is shown here. To replay it, connect to a server.',
  );
});

test('without records, there is no session', async () => {
  const sessions = new Sessions(new Capture());
  await expect(sessions.compareSessions({ ignore: [] })).rejects.toThrow(
    'The first session cannot be used: the recording has no request that a server answered.',
  );
});

test('there is one replay at a time, and it can be ended', async () => {
  let waits = (): void => {};
  const waiting = new Promise<void>((resolve) => (waits = resolve));
  const url = await served(serverOf('', () => waits()));
  const before = readFileSync(await recorded('one'), 'utf8');
  const sessions = new Sessions(new Capture(), () => (options) => connect(url, options));
  const replay = sessions.replaySession({ before, ignore: [], call: [] });
  await waiting;
  await expect(sessions.replaySession({ before, ignore: [], call: [] })).rejects.toThrow(
    'A replay is running already.',
  );
  sessions.endReplay();
  await expect(replay).rejects.toThrow('The replay was ended.');
});
