// #region server
import { apiKeyAuth } from 'everwire/auth';
import { image, McpServer, UserError } from 'everwire/server';
import { z } from 'zod';

const auth = apiKeyAuth({ keys: { 'key-of-ada': { principal: 'ada', scopes: ['librarian'] } } });

const server = new McpServer({
  name: 'library',
  version: '1.0.0',
  instructions: 'Search before you lend.',
  http: { auth },
});
// #endregion server

const books = new Map([
  ['momo', 'It was a very big city.'],
  ['jim', 'The country was called Lummerland.'],
]);

// #region tool
server.tool(
  'search',
  {
    description: 'Finds books',
    input: z.object({ words: z.string() }),
    output: z.object({ books: z.array(z.string()) }),
    annotations: { readOnlyHint: true },
  },
  async ({ words }) => ({ books: [...books.keys()].filter((id) => id.includes(words)) }),
);

server.tool('lend', { description: 'Lends a book', input: z.object({ id: z.string() }) }, async ({ id }, ctx) => {
  if (!books.has(id)) throw new UserError(`There is no book ${id}`);
  await ctx.log('info', { message: 'asking', id });
  const answer = await ctx.elicit({
    message: `Lend ${id}?`,
    requestedSchema: { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
  });
  await ctx.progress(1, 1);
  return answer.action === 'accept'
    ? `Lent by ${ctx.auth?.principal ?? 'nobody'} for ${answer.content.days} days`
    : 'Not lent';
});

server.tool('cover', { description: 'The cover of a book', scopes: ['librarian'] }, () =>
  image(Buffer.from('iVBORw0KGgo=', 'base64'), 'image/png'),
);
// #endregion tool

// #region resources
server.resource('library://rules', { name: 'rules', mimeType: 'text/plain' }, async () => 'Be quiet');

server.resourceTemplate(
  'library://books/{id}',
  { name: 'book', mimeType: 'text/plain', complete: { id: [...books.keys()] } },
  async ({ id }) => books.get(id),
);
// #endregion resources

// #region prompt
server.prompt(
  'recommend',
  {
    description: 'Recommends a book',
    arguments: { genre: { description: 'The genre', required: true, complete: ['crime', 'fantasy'] } },
  },
  async ({ genre }) => `Recommend me a ${genre} novel.`,
);
// #endregion prompt

// #region start
if (process.argv.includes('--stdio')) {
  await server.stdio();
} else {
  const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 8080) });
  console.error(`listening on ${url}`);
}
// #endregion start
