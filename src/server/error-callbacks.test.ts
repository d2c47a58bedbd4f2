import { expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../client/connect.ts';
import { McpServer } from './mcp-server.ts';

type OnError = () => unknown;

const FAILING: Record<'throws' | 'rejects', OnError> = {
  throws: () => {
    throw new Error('thrown by onerror');
  },
  rejects: () => Promise.reject(new Error('thrown by onerror')),
};

function written() {
  const write = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => write.mockRestore());
  return write;
}

test.each(Object.keys(FAILING) as (keyof typeof FAILING)[])(
  'a caller learns nothing of what onerror of a server %s',
  async (how) => {
    const write = written();
    const server = new McpServer({ name: 'server', version: '1.0.0', onerror: FAILING[how] });
    server.tool('fail', {}, () => {
      throw new Error('secret');
    });
    const listener = await server.listen({ port: 0 });
    onTestFinished(() => listener.close());
    for (const revision of ['2025-11-25', '2026-07-28'] as const) {
      const client = await connect(listener.url, { revision });
      onTestFinished(() => client.close());
      const outcome = await client.callTool('fail').catch((error: Error) => error.message);
      expect(JSON.stringify(outcome)).not.toMatch(/secret|onerror/);
    }
    await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(2));
    expect(write).toHaveBeenCalledWith(expect.stringContaining('thrown by onerror'));
  },
);

test.each(Object.keys(FAILING) as (keyof typeof FAILING)[])(
  'a call is answered if onlog of its client fails, and what its onerror %s is written',
  async (how) => {
    const write = written();
    const server = new McpServer({ name: 'server', version: '1.0.0' });
    server.tool('log', {}, async (_, ctx) => {
      await ctx.log('error', 'a message');
      return 'done';
    });
    for (const revision of ['2025-11-25', '2026-07-28'] as const) {
      const client = await connect(server, {
        revision,
        logLevel: 'debug',
        onlog: FAILING.throws,
        onerror: FAILING[how],
      });
      onTestFinished(() => client.close());
      expect(await client.callTool('log')).toMatchObject({ content: [{ text: 'done' }] });
    }
    await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(2));
  },
);
