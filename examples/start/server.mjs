import { McpServer, UserError } from 'everwire/server';
import { z } from 'zod';

const server = new McpServer({ name: 'library', version: '1.0.0' });

const shelves = new Map([
  ['Momo', 3],
  ['The Neverending Story', 1],
]);

server.tool(
  'find_book',
  { description: 'Says on which shelf a book is', input: z.object({ title: z.string() }) },
  ({ title }) => {
    const shelf = shelves.get(title);
    // The caller sees the message of a UserError, and of no other error.
    if (shelf === undefined) throw new UserError(`There is no book called ${title}.`);
    return `${title} is on shelf ${shelf}.`;
  },
);

server.resource('library://titles', { name: 'titles', description: 'All titles' }, () =>
  [...shelves.keys()].join('\n'),
);

if (process.argv.includes('--stdio')) {
  await server.stdio();
} else {
  const { url } = await server.listen({ port: Number(process.env.PORT ?? 8000) });
  console.error(`listening on ${url}`);
}
