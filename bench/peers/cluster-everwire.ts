import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { McpServer } from 'everwire/server';
import { z } from 'zod';
import { openStore } from '../../src/cli/open-store.ts';
import { stop } from '../../src/cli/shutdown.ts';
import { repeatPerSecond } from './per-second.ts';

/** One of several processes, with the store that the command line of everwire opens. */

const { values } = parseArgs({ options: { store: { type: 'string' }, 'state-key': { type: 'string' } } });
const stateKey = values['state-key'];
const server = new McpServer({ name: 'everwire', version: '1.0.0', stateKey });

server.tool('add', { input: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => String(a + b));

const form = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] } as const;
server.tool('ask', {}, async (_, ctx) => {
  const { content } = await ctx.elicit({ message: 'Which?', requestedSchema: form });
  return content?.answer ?? 'none';
});

// The first event says where a reader goes on. Then there is time to do that.
const rate = z.object({ pause: z.number(), perSecond: z.number(), count: z.number() });
server.tool('tick', { input: rate }, async ({ pause, perSecond, count }, ctx) => {
  await ctx.log('error', 'begin');
  await delay(pause);
  await repeatPerSecond(perSecond, count, (text) => void ctx.log('error', text));
  return 'end';
});

server.tool('hold', { input: z.object({ ms: z.number() }) }, ({ ms }) => delay(ms, String(ms)));

server.tool('fill', { input: z.object({ length: z.number() }) }, async ({ length }, ctx) => {
  await ctx.log('error', 'x'.repeat(length));
  return 'filled';
});

const state = await openStore(values.store, { stateKey, onwarning: console.error });
const listener = await server.listen({ state, port: 0 });
console.error(`listening on ${listener.url}`);
// Calls in flight have ten seconds.
process.once('SIGTERM', () => void server.close(10_000).then(stop));
