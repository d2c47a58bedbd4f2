import { expect, onTestFinished, vi } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import type { Bus } from '../../src/store/bus.ts';
import { memoryBus } from '../../src/store/memory-bus.ts';
import { memoryTaskStore } from '../../src/store/memory-tasks.ts';
import { memoryState } from '../../src/store/state.ts';
import { Events } from './http.ts';
import { modernHeaders, modernRequest } from './modern.ts';
import { aborted } from './service.ts';

/** Processes that run tasks and share a store, for tests in memory. */

const ABLE: JsonObject = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const FORM = {
  message: 'Your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
} as const;

export interface Node {
  /** Resolves with the last message. */
  readonly send: (method: string, params: JsonObject) => Promise<any>;
  readonly open: (method: string, params: JsonObject) => Promise<Response>;
  readonly aborts: string[];
}

/** Processes with one store and one bus. Each of them has tasks that ask, and tasks that run until they are cancelled. */
export async function nodes(change: (bus: Bus, node: string) => Bus = (bus) => bus, tasks = memoryTaskStore()) {
  const alive = new Set(['a', 'b']);
  const busOf = memoryBus((node) => alive.has(node));
  const isAlive = (node: string): Promise<boolean> => Promise.resolve(alive.has(node));
  const shared = { ...memoryState(), tasks };
  const started = [...alive].map((node): Node => {
    const server = new McpServer({ name: 'tasks', version: '1', onerror: () => {}, tasks: {} });
    const aborts: string[] = [];
    server.tool('hello', { task: true }, async (_, ctx) => {
      const { content } = await ctx.elicit(FORM, { key: 'name' });
      return `Hello, ${String(content?.['name'])}, from ${node}!`;
    });
    server.tool('ask-and-wait', { task: true }, async (_, ctx) => {
      await ctx.elicit(FORM, { key: 'name' });
      await aborted(ctx.signal);
      return 'ended';
    });
    server.tool('wait', { task: true }, async (_, ctx) => {
      await aborted(ctx.signal);
      aborts.push(node);
      return 'ended';
    });
    const state = { ...shared, node, isAlive, bus: change(busOf(node), node) };
    const listening = server.listen({ port: 0, state });
    onTestFinished(() => server.close(0));
    let id = 0;
    const open: Node['open'] = async (method, params) => {
      const message = modernRequest((id += 1), method, params, ABLE);
      const { url } = await listening;
      return fetch(url, { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) });
    };
    const send: Node['send'] = async (...request) => {
      const response = await open(...request);
      if (response.headers.get('content-type') === 'application/json') return response.json();
      const events = await new Events(response).rest();
      return JSON.parse(events.findLast(({ data }) => data)!.data!);
    };
    return { send, open, aborts };
  });
  return { alive, started: started as [Node, Node] };
}

export const begin = async ({ send }: Node, name: string): Promise<string> => {
  const { taskId } = (await send('tools/call', { name })).result;
  return taskId as string;
};
export const until = ({ send }: Node, taskId: string, status: string): Promise<any> =>
  vi.waitFor(async () => {
    const { result } = await send('tasks/get', { taskId });
    expect(result).toMatchObject({ status });
    return result;
  }, 30_000);
export const accept = (name: string) => ({ name: { action: 'accept', content: { name } } });
