import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { McpServer } from '../../src/server/mcp-server.ts';
import { linesOf } from '../support/lines.ts';
import { deferred } from '../support/service.ts';
import { asked } from './modern-client.ts';

/** A server over a pair of byte streams, and its output, line by line. */
function overStdio(server: McpServer) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const over = server.stdio({ stdin, stdout });
  const lines = linesOf(stdout);
  return {
    over,
    stdin,
    stdout,
    write: (...messages: object[]) => void stdin.write(messages.map((each) => `${JSON.stringify(each)}\n`).join('')),
    next: async (): Promise<any> => {
      const { value, done } = await lines.next();
      return done ? undefined : JSON.parse(value);
    },
  };
}

test('at the end of input, subscriptions end, requests in flight are answered, and the server exits', async () => {
  const go = deferred();
  const begun = deferred();
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('wait', {}, async () => {
    begun.resolve();
    await go.promise;
    return 'done';
  });
  const { over, stdin, stdout, write, next } = overStdio(server);
  write(asked(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
  expect(await next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
  write(asked(2, 'tools/call', { name: 'wait' }));
  await begun.promise;
  stdin.end();
  expect(await next()).toMatchObject({ id: 1, result: { resultType: 'complete' } });
  go.resolve();
  expect(await next()).toMatchObject({ id: 2, result: { content: [{ text: 'done' }] } });
  await over;
  stdout.end();
  expect(await next()).toBeUndefined();
});

test('a question is sent as a result on its own line, and never as a request', async () => {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('ask', {}, async (_, ctx) => JSON.stringify(await ctx.roots()));
  const { over, stdin, write, next } = overStdio(server);
  write(asked(1, 'tools/call', { name: 'ask', arguments: { text: 'a\nb' } }, { roots: {} }));
  const { result, ...first } = await next();
  expect(first).toEqual({ jsonrpc: '2.0', id: 1 });
  const [key] = Object.keys(result.inputRequests);
  const roots = [{ uri: 'file:///a', name: 'a\nb' }];
  const params = {
    name: 'ask',
    arguments: { text: 'a\nb' },
    requestState: result.requestState,
    inputResponses: { [key!]: { roots } },
  };
  write(asked(2, 'tools/call', params, { roots: {} }));
  expect(await next()).toMatchObject({ id: 2, result: { content: [{ text: JSON.stringify(roots) }] } });
  stdin.end();
  await over;
});
