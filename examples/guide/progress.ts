import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from 'everwire/server';
import { z } from 'zod';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

const input = z.object({ shelves: z.array(z.string()), pause: z.int().default(10) });

server.tool('dust', { description: 'Dusts shelves', input }, async ({ shelves, pause }, ctx) => {
  for (const [done, shelf] of shelves.entries()) {
    // Rejects as soon as the caller cancels or disconnects.
    await delay(pause, undefined, { signal: ctx.signal });
    await ctx.progress(done + 1, shelves.length, `Shelf ${shelf}`);
  }
  await ctx.log('info', { dusted: shelves }, 'housekeeping');
  return 'All clean.';
});
