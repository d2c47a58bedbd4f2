// #region imports
import { setTimeout as delay } from 'node:timers/promises';
import { bearerAuth, InvalidToken } from 'everwire/auth';
import { McpServer, UserError } from 'everwire/server';
import { z } from 'zod';
import { Store } from './store.ts';
// #endregion imports

const store = new Store();

// #region auth
const auth = bearerAuth({
  resource: 'https://notes.example/mcp',
  authorizationServers: ['https://login.example/'],
  scopes: ['notes'],
  async verify(token) {
    const user = await store.userOf(token);
    if (!user) throw new InvalidToken('The token is not valid');
    return { principal: user.name, scopes: user.scopes, expiresAt: user.expiresAt };
  },
});
// #endregion auth

// #region server
const server = new McpServer({
  name: 'notes',
  version: '1.0.0',
  instructions: 'Search before you add a note.',
  http: { auth },
});
// #endregion server

// #region tool
server.tool(
  'add_note',
  {
    title: 'Add a note',
    description: 'Stores a note',
    input: z.object({ title: z.string().min(1), text: z.string(), tags: z.array(z.string()).default([]) }),
    output: z.object({ id: z.string(), count: z.number() }),
  },
  async ({ title, text, tags }) => {
    const { id } = store.add(title, text, tags);
    server.listChanged('resources');
    server.resourceUpdated('notes://all');
    return { id, count: store.all().length };
  },
);
// #endregion tool

// #region deprecated
server.tool(
  'find_notes',
  { description: 'Finds notes', input: z.object({ words: z.string() }), annotations: { readOnlyHint: true } },
  async ({ words }) => ({
    content: store.find(words).map(({ id, title }) => ({
      type: 'resource_link' as const,
      uri: `notes://note/${id}`,
      name: title,
    })),
  }),
);

server.tool('count_notes', {}, async () => ({ content: [{ type: 'text', text: String(store.all().length) }] }));
// #endregion deprecated

// #region elicitation
server.tool(
  'delete_note',
  { description: 'Deletes a note', input: z.object({ id: z.string() }) },
  async ({ id }, ctx) => {
    const note = store.get(id);
    if (!note) throw new UserError(`There is no note ${id}`);
    const answer = await ctx.elicit({
      message: `Delete "${note.title}"?`,
      requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
    });
    if (answer.action !== 'accept' || !answer.content.sure) return 'Kept';
    store.delete(id);
    return 'Deleted';
  },
);
// #endregion elicitation

// #region sampling
server.tool('summarize', { description: 'Summarizes all notes' }, async (_, ctx) => {
  const roots = await ctx.roots();
  const { content } = await ctx.sample({
    maxTokens: 100,
    messages: [
      {
        role: 'user',
        content: {
          type: 'text',
          text: store
            .all()
            .map(({ text }) => text)
            .join('\n'),
        },
      },
    ],
  });
  const [part] = [content].flat();
  return `${part?.type === 'text' ? part.text : ''} (${roots.map(({ name }) => name).join()})`;
});
// #endregion sampling

// #region progress
server.tool(
  'reindex',
  { description: 'Reads all notes again', input: z.object({ pause: z.number().default(20) }) },
  async ({ pause }, ctx) => {
    const notes = store.all();
    for (const [done, { title }] of notes.entries()) {
      await ctx.progress(done + 1, notes.length, title);
      await delay(pause, undefined, { signal: ctx.signal });
    }
    await ctx.log('info', { notes: notes.length }, 'index');
    return 'Done';
  },
);
// #endregion progress

// #region changes
const secret = server.tool(
  'secret',
  { description: 'Not for everyone' },
  async (_, ctx) => `${ctx.auth?.principal ?? 'nobody'} may ${ctx.auth?.scopes.join() ?? 'nothing'}`,
);
secret.disable();

server.tool('unlock', { description: 'Shows the secret tool' }, async () => {
  secret.enable();
  return 'Unlocked';
});
// #endregion changes

// #region resources
server.resource('notes://all', { name: 'all', mimeType: 'text/plain' }, async () =>
  store
    .all()
    .map(({ title }) => title)
    .join('\n'),
);

server.resourceTemplate(
  'notes://note/{id}',
  {
    name: 'note',
    description: 'One note',
    mimeType: 'text/plain',
    list: async () => store.all().map(({ id, title }) => ({ uri: `notes://note/${id}`, name: title })),
    complete: {
      id: (value) =>
        store
          .all()
          .map(({ id }) => id)
          .filter((id) => id.startsWith(value)),
    },
  },
  async ({ id }) => store.get(id)?.text,
);
// #endregion resources

// #region prompts
const matching = (typed: string): string[] => store.tags().filter((tag) => tag.startsWith(typed));
server.prompt(
  'review',
  {
    description: 'Review the notes with a tag',
    arguments: { tag: { required: true, description: 'The tag', complete: matching }, style: {} },
  },
  ({ tag, style }) => `Review my notes about ${tag}${style ? `, ${style}` : ''}.`,
);
// #endregion prompts

// #region low-level
server.use((next) => async (exchange) => {
  if (exchange.method === 'notes/tags') return { tags: store.tags() };
  return next(exchange);
});
// #endregion low-level

// #region serve
if (process.argv.includes('--stdio')) {
  await server.stdio();
} else {
  const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 8000) });
  console.error(`listening on ${url}`);
}
// #endregion serve
