import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { descendants, programs, startServer, type RunningServer } from '../support/process.ts';
import { connect, type OfficialClient, type Target } from './clients.ts';
import { bridged } from './servers.ts';

/** Two clients of different major versions on one child. */
describe('a shared bridge to server-everything', () => {
  const { http, stdio } = bridged(programs.everything, '--shared');
  let server: RunningServer;
  let ada: OfficialClient;
  let grace: OfficialClient;

  beforeAll(async () => {
    server = await startServer(http);
    const target: Target = { stdio, url: server.url, sseUrl: server.sseUrl };
    ada = await connect('sdk 1.x', 'http', target);
    grace = await connect('client 2.x legacy', 'sse', target);
  });

  afterAll(async () => {
    await Promise.all([ada?.close(), grace?.close()]);
    await server?.stop();
  });

  test('has one child for both', async () => {
    await Promise.all([ada.methods.ping(), grace.methods.ping()]);
    expect(descendants(server.pid)).toHaveLength(1);
  });

  test('keeps calls with the same ids and progress tokens separate', async () => {
    const long = (steps: number) => ({ name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps } });
    const seen: Record<'ada' | 'grace', number[]> = { ada: [], grace: [] };
    const both = await Promise.all([
      ada.callTool(long(3), { onprogress: ({ total }) => seen.ada.push(total!) }),
      grace.callTool(long(5), { onprogress: ({ total }) => seen.grace.push(total!) }),
    ]);
    expect(both.map((result) => result['content'][0].text)).toEqual([
      expect.stringContaining('Steps: 3'),
      expect.stringContaining('Steps: 5'),
    ]);
    expect(new Set(seen.ada)).toEqual(new Set([3]));
    expect(new Set(seen.grace)).toEqual(new Set([5]));
  });

  test('asks the client that made the call', async () => {
    const before = { ada: ada.questions.length, grace: grace.questions.length };
    await ada.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'of Ada' } });
    await grace.callTool({ name: 'trigger-elicitation-request' });
    expect(ada.questions.slice(before.ada).map(({ method }) => method)).toEqual(['sampling/createMessage']);
    expect(grace.questions.slice(before.grace).map(({ method }) => method)).toEqual(['elicitation/create']);
  });

  test('notifies only the subscriber of a resource', async () => {
    const uri = 'demo://resource/dynamic/text/5';
    await ada.methods.subscribeResource({ uri });
    await grace.callTool({ name: 'toggle-subscriber-updates' });
    await ada.notice('notifications/resources/updated', (params) => params['uri'] === uri);
    await grace.callTool({ name: 'toggle-subscriber-updates' });
    expect(grace.notices.filter(({ method }) => method === 'notifications/resources/updated')).toEqual([]);
    await ada.methods.unsubscribeResource({ uri });
  });

  test('notifies both clients of a changed list', async () => {
    const from = { ada: ada.notices.length, grace: grace.notices.length };
    await ada.callTool({
      name: 'gzip-file-as-resource',
      arguments: { name: 'both.gz', data: 'data:text/plain,hello' },
    });
    await ada.notice('notifications/resources/list_changed', undefined, from.ada);
    await grace.notice('notifications/resources/list_changed', undefined, from.grace);
  });

  test('has a separate log level for each client', async () => {
    await ada.methods.setLoggingLevel('error');
    await grace.methods.setLoggingLevel('debug');
    const from = { ada: ada.notices.length, grace: grace.notices.length };
    const uri = 'demo://resource/dynamic/text/6';
    const told = (params: Record<string, any>): boolean => String(params['data']).includes(uri);
    await grace.methods.subscribeResource({ uri });
    await grace.notice('notifications/message', told, from.grace);
    await ada.methods.ping();
    await grace.methods.unsubscribeResource({ uri });
    expect(ada.notices.slice(from.ada).filter(({ params }) => told(params ?? {}))).toEqual([]);
  });

  test('continues for one client when the other disconnects during a call', async () => {
    const target: Target = { stdio, url: server.url, sseUrl: server.sseUrl };
    const guest = await connect('sdk 1.x', 'sse', target);
    const begun = new Promise<void>((resolve) => {
      const call = { name: 'trigger-long-running-operation', arguments: { duration: 20, steps: 200 } };
      guest.callTool(call, { onprogress: () => resolve() }).catch(() => {});
    });
    await begun;
    await guest.close();
    const { structuredContent } = await ada.callTool({
      name: 'get-structured-content',
      arguments: { location: 'Chicago' },
    });
    expect(structuredContent).toMatchObject({ temperature: 36 });
    expect(descendants(server.pid)).toHaveLength(1);
  });
});
