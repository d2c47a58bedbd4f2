import { McpServer } from 'everwire/server';
import { z } from 'zod';

/** Makes a new server for each test, so that no test sees the notes of another. */
export function createServer(): McpServer {
  const notes = new Map<string, string>();
  const server = new McpServer({ name: 'notes', version: '1.0.0' });

  server.tool(
    'add_note',
    {
      description: 'Add a note',
      input: z.object({ title: z.string().min(1), text: z.string() }),
      scopes: ['notes:write'],
    },
    async ({ title, text }, ctx) => {
      notes.set(title, text);
      server.resourceUpdated('notes://all');
      await ctx.log('debug', `${ctx.caller.principal ?? 'somebody'} added ${title}`);
      return `Added ${title}.`;
    },
  );

  server.tool('delete_notes', { description: 'Delete all notes' }, async (_, ctx) => {
    const message = `Delete ${notes.size} notes?`;
    const answer = await ctx.elicit({ message, schema: z.object({ sure: z.boolean() }) });
    if (answer.action !== 'accept' || !answer.content.sure) return 'Nothing was deleted.';
    const titles = [...notes.keys()];
    for (const [index, title] of titles.entries()) {
      notes.delete(title);
      await ctx.progress(index + 1, titles.length, title);
    }
    return 'Deleted.';
  });

  server.resource('notes://all', { name: 'All notes' }, () =>
    Array.from(notes, ([title, text]) => `${title}: ${text}`).join('\n'),
  );

  return server;
}
