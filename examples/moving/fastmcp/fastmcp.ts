// #region server
import { FastMCP, imageContent, UserError } from 'fastmcp';
import { z } from 'zod';

type User = { name: string; role: string };

const server = new FastMCP<User>({
  name: 'library',
  version: '1.0.0',
  instructions: 'Search before you lend.',
  authenticate: async (request) => {
    if (request.headers['x-api-key'] !== 'key-of-ada') throw new Response(null, { status: 401 });
    return { name: 'ada', role: 'librarian' };
  },
});
// #endregion server

const books = new Map([
  ['momo', 'It was a very big city.'],
  ['jim', 'The country was called Lummerland.'],
]);

// #region tool
server.addTool({
  name: 'search',
  description: 'Finds books',
  parameters: z.object({ words: z.string() }),
  outputSchema: z.object({ books: z.array(z.string()) }),
  annotations: { readOnlyHint: true },
  execute: async ({ words }) => ({ books: [...books.keys()].filter((id) => id.includes(words)) }),
});

server.addTool({
  name: 'lend',
  description: 'Lends a book',
  parameters: z.object({ id: z.string() }),
  execute: async ({ id }, { elicit, log, reportProgress, session }) => {
    if (!books.has(id)) throw new UserError(`There is no book ${id}`);
    log.info('asking', { id });
    const answer = await elicit({
      message: `Lend ${id}?`,
      requestedSchema: { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
    });
    await reportProgress({ progress: 1, total: 1 });
    return answer.action === 'accept'
      ? `Lent by ${session?.name ?? 'nobody'} for ${String(answer.content?.['days'])} days`
      : 'Not lent';
  },
});

server.addTool({
  name: 'cover',
  description: 'The cover of a book',
  canAccess: ({ role }) => role === 'librarian',
  execute: async () => imageContent({ buffer: Buffer.from('iVBORw0KGgo=', 'base64') }),
});
// #endregion tool

// #region resources
server.addResource({
  uri: 'library://rules',
  name: 'rules',
  mimeType: 'text/plain',
  load: async () => ({ text: 'Be quiet' }),
});

server.addResourceTemplate({
  uriTemplate: 'library://books/{id}',
  name: 'book',
  mimeType: 'text/plain',
  arguments: [
    {
      name: 'id',
      required: true,
      complete: async (value) => ({ values: [...books.keys()].filter((id) => id.startsWith(value)) }),
    },
  ],
  load: async ({ id }) => ({ text: books.get(id) ?? 'No such book' }),
});
// #endregion resources

// #region prompt
server.addPrompt({
  name: 'recommend',
  description: 'Recommends a book',
  arguments: [{ name: 'genre', description: 'The genre', required: true, enum: ['crime', 'fantasy'] }],
  load: async ({ genre }) => `Recommend me a ${genre} novel.`,
});
// #endregion prompt

// #region start
if (process.argv.includes('--stdio')) {
  await server.start({ transportType: 'stdio' });
} else {
  await server.start({ transportType: 'httpStream', httpStream: { port: Number(process.env['PORT'] ?? 8080) } });
}
// #endregion start
