import { randomUUID } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { McpServer, type Context } from 'everwire/server';
import { openStore } from '../../../src/cli/open-store.ts';
import { stop } from '../../../src/cli/shutdown.ts';
import type { Fact } from './history.ts';
import { watchStarvation } from './starvation.ts';

/**
 * One process of the storm. Its tools get the id of their call, and write what they do to a file before they do it. The file
 * is complete also if the process is killed.
 */

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: 'process' },
    store: { type: 'string' },
    'state-key': { type: 'string' },
    history: { type: 'string', default: '.' },
  },
});
const file = openSync(path.join(values.history, values.name), 'a');

type Written<F> = F extends unknown ? Omit<F, 'at' | 'about'> : never;
type Run = (fact: Written<Fact>) => void;

/** Writes that a call runs. Resolves with what writes the rest. */
function begin(name: string, call: string): { run: string; write: Run } {
  const run = randomUUID().slice(0, 8);
  const write: Run = (fact) =>
    void writeSync(file, `${JSON.stringify({ at: Date.now(), about: call, ...(fact as object) })}\n`);
  write({ what: 'run', run, process: values.name, tool: name });
  return { run, write };
}

const server = new McpServer({
  name: 'storm',
  version: '1.0.0',
  stateKey: values['state-key'],
  askTimeout: 10_000,
  onerror: () => {},
});

const string = { type: 'string' } as const;
const integer = { type: 'integer' } as const;
const input = {
  type: 'object',
  properties: { call: string, steps: integer, ms: integer, uri: string },
  required: ['call'],
} as const;
interface Given {
  call: string;
  steps?: number | undefined;
  ms?: number | undefined;
  uri?: string | undefined;
}
type Work = (given: Given, ctx: Context, run: string, write: Run) => Promise<void>;

/** Adds a tool whose result is the id of its call. */
function tool(name: string, work: Work, config: { readOnly?: boolean; task?: true } = {}): void {
  const { readOnly = false, task } = config;
  const annotations = { readOnlyHint: readOnly };
  server.tool(name, { description: name, input, annotations, ...(task && { task }) }, async (given, ctx) => {
    const { run, write } = begin(name, given.call);
    try {
      await work(given, ctx, run, write);
    } catch (error) {
      write({ what: 'done', run, how: 'failed' });
      throw error;
    }
    write({ what: 'done', run, how: ctx.signal.aborted ? 'aborted' : 'returned' });
    return given.call;
  });
}

/** Waits, unless the call is cancelled. */
const pause = (ms: number, signal: AbortSignal): Promise<unknown> => delay(ms, undefined, { signal }).catch(() => {});

const nothing: Work = () => Promise.resolve();
tool('note', nothing);
tool('read', nothing, { readOnly: true });
tool('slow', ({ ms = 0 }, ctx) => pause(ms, ctx.signal).then(() => {}));
tool('job', ({ ms = 0 }, ctx) => pause(ms, ctx.signal).then(() => {}), { task: true });

/** Sends steps, and writes which of them were accepted. */
const emit =
  (send: (ctx: Context, call: string, n: number, steps: number) => Promise<void>): Work =>
  async ({ call, steps = 1, ms = 0 }, ctx, run, write) => {
    for (let n = 1; n <= steps && !ctx.signal.aborted; n += 1) {
      const ok = await send(ctx, call, n, steps).then(
        () => true,
        () => false,
      );
      write({ what: 'emitted', run, n, ok });
      await pause(ms, ctx.signal);
    }
  };
tool(
  'count',
  emit((ctx, call, n, steps) => ctx.progress(n, steps, `${call}/${n}`)),
);
tool(
  'log',
  emit((ctx, call, n) => ctx.log('error', `${call}/${n}`)),
);

const answerOf = (action: string, content: unknown): string =>
  action === 'accept' ? (content as { answer: string }).answer : action;
const form = { type: 'object', properties: { answer: string }, required: ['answer'] } as const;
const elicit =
  (questionOf: (call: string, run: string) => string): Work =>
  async ({ call }, ctx, run, write) => {
    const question = questionOf(call, run);
    write({ what: 'asks', run, process: values.name, question });
    const { action, content } = await ctx.elicit({ message: question, requestedSchema: form });
    write({ what: 'got', run, question, answer: answerOf(action, content) });
  };
// A handler that runs again gets the answers to the same questions.
tool(
  'ask',
  elicit((call) => `${call}?`),
  { readOnly: true },
);
tool(
  'ask-once',
  elicit((call, run) => `${call}?${run}`),
);
tool(
  'sample',
  async ({ call }, ctx, run, write) => {
    const question = `${call}?`;
    write({ what: 'asks', run, process: values.name, question });
    const { content } = await ctx.sample({
      messages: [{ role: 'user', content: { type: 'text', text: question } }],
      maxTokens: 10,
    });
    write({ what: 'got', run, question, answer: (content as { text: string }).text });
  },
  { readOnly: true },
);
const LEVELS = ['debug', 'info', 'warning', 'error'] as const;
tool('levels', async ({ call }, ctx, run, write) => {
  for (const [n, level] of LEVELS.entries()) {
    await ctx.log(level, `${call}/${n + 1}`).catch(() => {});
    write({ what: 'logged', run, n: n + 1, level });
  }
});
tool('relist', async () => server.listChanged('tools'));
tool('touch', async ({ uri }) => void (uri && server.resourceUpdated(uri)));
server.resourceTemplate('storm://{client}', { name: 'client' }, ({ client }) => client);

watchStarvation((from, at) => {
  const fact: Fact = { at, about: '', what: 'starved', process: values.name, from };
  writeSync(file, `${JSON.stringify(fact)}\n`);
});
const state = await openStore(values.store, { stateKey: values['state-key'], onwarning: () => {} });
const listener = await server.listen({ state, port: 0 });
console.error(`listening on ${listener.url}`);
process.once('SIGTERM', () => void listener.close().then(stop));
