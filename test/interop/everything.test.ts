import { expect, test } from 'vitest';
import { programs, startServer } from '../support/process.ts';
import { connect } from './clients.ts';
import { HANDSHAKES, matrix } from './matrix.ts';
import { everything } from './peers.ts';
import { bridged, serveBoth } from './servers.ts';

const { http, stdio } = bridged(programs.everything);
matrix('a bridge to server-everything', everything, () => serveBoth(http, stdio), HANDSHAKES);

test('a task of server-everything asks in the middle of it, through the bridge', async () => {
  const server = await startServer(http);
  const client = await connect('sdk 1.x', 'http', { stdio, url: server.url, sseUrl: server.sseUrl });
  client.answers.elicitation = () => ({ action: 'accept', content: { interpretation: 'technical' } });
  const call = { name: 'simulate-research-query', arguments: { topic: 'bridges', ambiguous: true } };
  const { task } = await client.request('tools/call', { ...call, task: { ttl: 60_000 } });
  // The question comes while the result is waited for, and belongs to nothing else.
  const result = await client.request('tasks/result', { taskId: task.taskId });
  expect(client.questions.map(({ method }) => method)).toContain('elicitation/create');
  expect(result['content'][0].text).toContain('bridges (technical)');
  await client.close();
  await server.stop();
});
