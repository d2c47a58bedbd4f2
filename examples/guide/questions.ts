import { McpServer } from 'everwire/server';
import { z } from 'zod';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

const lending = z.object({
  name: z.string().min(1).describe('Your name'),
  days: z.int().min(1).max(60).default(14),
});

server.tool('lend', { description: 'Lend a book', input: z.object({ title: z.string() }) }, async ({ title }, ctx) => {
  if (!ctx.can('elicitation')) return 'Your client cannot show forms. Come to the desk, please.';
  const answer = await ctx.elicit({ message: `Who borrows "${title}"?`, schema: lending });
  if (answer.action !== 'accept') return 'Not lent.';
  return `Lent to ${answer.content.name} for ${answer.content.days} days.`;
});

server.tool('pay', { description: 'Pay a fine' }, async (_, ctx) => {
  const answer = await ctx.elicitUrl({ message: 'Pay the fine', url: 'https://library.example/pay' });
  return answer.action === 'accept' ? 'The page is open.' : 'Not paid.';
});

server.tool('blurb', { description: 'Advertise a book', input: z.object({ title: z.string() }) }, async (book, ctx) => {
  const { content } = await ctx.sample({
    maxTokens: 100,
    messages: [{ role: 'user', content: { type: 'text', text: `Praise ${book.title} in one sentence.` } }],
  });
  const [part] = [content].flat();
  return part?.type === 'text' ? part.text : 'A book like no other.';
});

server.tool('shelves', { description: 'Where the client lets this server work' }, async (_, ctx) => {
  const roots = await ctx.roots();
  return roots.map(({ uri }) => uri).join('\n');
});
