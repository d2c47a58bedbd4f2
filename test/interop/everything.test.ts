import { expect, test } from 'vitest';
import { programs, startServer } from '../support/process.ts';
import { connect } from './clients.ts';
import { matrix } from './matrix.ts';
import { everything } from './peers.ts';
import { bridged, serveBoth } from './servers.ts';

const { http, stdio } = bridged(programs.everything);
const start = (): ReturnType<typeof serveBoth> => serveBoth(http, stdio);
matrix('a bridge to server-everything', everything, start, { clients: ['sdk 1.x', 'client 2.x legacy'] });

/**
 * Some features cannot reach a client of 2026-07-28: tasks of 2025-11-25, the notification of changed roots (this
 * server asks for roots only once), and log messages outside of calls. Required URL elicitation becomes a question.
 */
const { urlElicitation, ...rest } = everything;
const { errorPath, ...visit } = urlElicitation!;
const modern = { ...rest, urlElicitation: visit, logging: undefined, roots: undefined, tasks: undefined };
matrix('a bridge to server-everything, without a handshake', modern, start, {
  clients: ['client 2.x auto', 'client 2.x modern'],
});

test('if server-everything requires a URL elicitation with an error, a client of 2026-07-28 is asked', async () => {
  const server = await startServer(http);
  const client = await connect('client 2.x modern', 'http', { stdio, url: server.url, sseUrl: server.sseUrl });
  const result = await client.callTool(errorPath!);
  expect(client.questions.map(({ params }) => params)).toContainEqual(expect.objectContaining({ mode: 'url' }));
  expect(result['isError']).not.toBe(true);
  await client.close();
  await server.stop();
});

test('a task of server-everything can ask while it runs, through the bridge', async () => {
  const server = await startServer(http);
  const client = await connect('sdk 1.x', 'http', { stdio, url: server.url, sseUrl: server.sseUrl });
  client.answers.elicitation = () => ({ action: 'accept', content: { interpretation: 'technical' } });
  const call = { name: 'simulate-research-query', arguments: { topic: 'bridges', ambiguous: true } };
  const { task } = await client.request('tools/call', { ...call, task: { ttl: 60_000 } });
  // The question comes while the client waits for the result, and belongs to that call.
  const result = await client.request('tasks/result', { taskId: task.taskId });
  expect(client.questions.map(({ method }) => method)).toContain('elicitation/create');
  expect(result['content'][0].text).toContain('bridges (technical)');
  await client.close();
  await server.stop();
});
