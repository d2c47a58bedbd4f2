import { getEventListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { McpServer } from '../server/mcp-server.ts';
import { streamTransport } from '../transport/stdio/stream.ts';
import { connect } from './connect.ts';
import type { Target } from './target.ts';

afterEach(() => void vi.useRealTimers());

/** A server whose tools return, fail, and report progress. */
function busy(): McpServer {
  const server = new McpServer({ name: 'busy', version: '1.0.0', onerror: () => {} });
  server.tool('echo', {}, () => 'echo');
  server.tool('fail', {}, () => {
    throw new Error('as it should');
  });
  server.tool('progress', {}, async (_, ctx) => {
    await ctx.progress(1, 2);
    return 'done';
  });
  return server;
}

const places: Record<string, () => Promise<Target>> = {
  'in the process': () => Promise.resolve(busy()),
  'over pipes': async () => {
    const [up, down] = [new PassThrough(), new PassThrough()];
    await busy().connect(streamTransport(up, down));
    return streamTransport(down, up, { role: 'client' });
  },
  'over HTTP': async () => {
    const listener = await busy().listen({ port: 0 });
    onTestFinished(() => listener.close(0));
    return listener.url;
  },
};
const cases = Object.keys(places).flatMap((place) =>
  (['legacy', 'modern'] as const).map((eras) => [place, eras] as const),
);

test.each(cases)('1,000 calls with one signal leave no listener and no memory behind: %s (%s)', async (place, eras) => {
  const controller = new AbortController();
  const { signal } = controller;
  const client = await connect(await places[place]!(), { eras, cache: false, onerror: () => {} });
  onTestFinished(() => client.close());
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const round = async (): Promise<void> => {
    const given = new AbortController();
    const refused = client.callTool('missing', {}, { signal }).catch(() => {});
    const cancelled = client.callTool('echo', {}, { signal: given.signal }).catch(() => {});
    given.abort(new Error('enough'));
    await Promise.all([
      client.callTool('echo', {}, { signal }),
      client.callTool('fail', {}, { signal }),
      client.callTool('progress', {}, { signal, onprogress: () => {} }),
      client.listTools({ signal }),
      client.ping({ signal }),
      refused,
      cancelled,
    ]);
    expect(getEventListeners(given.signal, 'abort')).toEqual([]);
  };
  await round();
  const timers = vi.getTimerCount();
  for (let calls = 0; calls < 1000; calls += 7) await round();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  // A server and its connections have a few of their own, independent of the number of calls.
  expect(vi.getTimerCount()).toBeLessThan(timers + 10);
  vi.useRealTimers();
});

test('one signal cancels many calls at once without a warning about a leak, and has no listener afterwards', async () => {
  const warned = vi.fn<() => void>();
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  const controller = new AbortController();
  const { signal } = controller;
  const answers: (() => void)[] = [];
  const server = new McpServer({ name: 'slow', version: '1.0.0' });
  server.tool('wait', {}, () => new Promise<string>((resolve) => answers.push(() => resolve('done'))));
  const client = await connect(server);
  onTestFinished(() => client.close());
  const calls = Array.from({ length: 100 }, () => client.callTool('wait', {}, { signal }));
  await vi.waitUntil(() => answers.length === 100);
  for (const answer of answers) answer();
  await Promise.all(calls);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const reasons = Array.from({ length: 20 }, () =>
    client.callTool('wait', {}, { signal }).catch((reason: unknown) => reason),
  );
  await vi.waitUntil(() => answers.length === 120);
  const reason = new Error('enough');
  controller.abort(reason);
  expect(new Set(await Promise.all(reasons))).toEqual(new Set([reason]));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(warned).not.toHaveBeenCalled();
});
