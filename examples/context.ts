import { McpServer } from 'everwire/server';
import { z } from 'zod';

export const server = new McpServer({ name: 'librarian', version: '1.0.0' });

server.tool(
  'lend',
  { description: 'Lend a book', input: z.object({ title: z.string(), days: z.int().max(60).default(14) }) },
  async ({ title, days }, context) => {
    await context.progress(1, 2, 'Looking for the book');
    context.signal.throwIfAborted();

    const answer = await context.elicit({
      message: `Lend "${title}" for ${days} days?`,
      schema: z.object({ name: z.string().min(1).meta({ title: 'Your name' }) }),
    });
    if (answer.action !== 'accept') return 'Not lent.';

    await context.log('info', { lent: title });
    return `Lent to ${answer.content.name}.`;
  },
);
