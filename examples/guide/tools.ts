import { image, McpServer, RpcError, UserError } from 'everwire/server';
import { z } from 'zod';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

const catalogue = [
  { title: 'Momo', author: 'Michael Ende', year: 1973 },
  { title: 'The Neverending Story', author: 'Michael Ende', year: 1979 },
];

server.tool(
  'search',
  {
    title: 'Search the catalogue',
    description: 'Finds books by a part of their title',
    input: z.object({
      title: z.string().min(2).describe('Any part of the title'),
      limit: z.int().min(1).max(50).default(10),
    }),
    output: z.object({ books: z.array(z.object({ title: z.string(), author: z.string(), year: z.int() })) }),
    annotations: { readOnlyHint: true },
  },
  ({ title, limit }) => ({ books: catalogue.filter((book) => book.title.includes(title)).slice(0, limit) }),
);

server.tool(
  'cover',
  { description: 'The cover of a book', input: z.object({ title: z.string() }) },
  async ({ title }) => {
    const book = catalogue.find((known) => known.title === title);
    if (book === undefined) throw new UserError(`There is no book called ${title}. Use search to find its title.`);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><text y="20">${book.title}</text></svg>`;
    return [{ type: 'text', text: `${book.title}, ${book.author}` }, await image(Buffer.from(svg), 'image/svg+xml')];
  },
);

server.tool('inventory', { description: 'Counts the books on the shelves' }, () => {
  throw new RpcError(-32000, 'The shelves are being moved', { data: { until: '2030-01-01' } });
});
