import { createServer } from 'node:http';
import {
  inputRequired,
  McpServer,
  memoryTaskStore,
  rateLimit,
  UserError,
  type Context,
  type HttpServerOptions,
  type McpServerOptions,
  type TemplateVariables,
  type ToolHandler,
} from 'everwire/server';
import { z } from 'zod';

const http: HttpServerOptions = { allowedHosts: ['mcp.example.com'], maxSessions: undefined };
const options: McpServerOptions = { name: 'library', version: '1.0.0', http, pageSize: undefined, title: 'Library' };
export const server = new McpServer({ ...options, tasks: { store: memoryTaskStore({ maxTasks: 10 }) } });

const book = z.object({ title: z.string(), days: z.number().optional() });

server.tool(
  'lend',
  { input: book, output: z.object({ until: z.string() }), safeToRerun: true, annotations: { readOnlyHint: true } },
  async ({ title, days = 14 }, context: Context) => {
    if (title === '') throw new UserError('Which book?');
    const answer = await context.elicit({ message: 'Your name?', schema: z.object({ name: z.string() }) });
    return { until: answer.action === 'accept' ? answer.content.name.slice(days) : 'never' };
  },
);

server.tool('return', {}, async (_, ctx) => {
  const answer = await ctx.elicit({ message: 'Which one?', schema: book });
  if (answer.action === 'decline') return 'Kept.';
  if (answer.action === 'cancel') return 'Kept for now.';
  return answer.content.title;
});

server.tool(
  'plain',
  { input: { type: 'object', properties: { page: { type: 'integer' } }, required: ['page'] } },
  ({ page }) => page + 1,
);

const ask: ToolHandler<typeof book, undefined> = ({ title }, { inputResponses }) =>
  inputResponses['sure'] === undefined
    ? inputRequired({ inputRequests: { sure: { method: 'elicitation/create', params: { message: title } } } })
    : title;
server.tool('ask', { input: book }, ask);

server.resource('library://rules', { name: 'rules', mimeType: undefined }, () => '# Be quiet');
server.resourceTemplate('library://books/{id}{?page}', { name: 'book' }, ({ id, page }) => id + (page ?? '1'));
server.prompt('recommend', { arguments: { genre: { required: true } } }, ({ genre }) => genre.toUpperCase());
server.listChanged('resources');
server.use(rateLimit({ perMinute: 60 }), (next) => (exchange) => next(exchange));

export const variables: TemplateVariables<'library://books/{id}{?page}'> = { id: 'momo' };

export async function run(): Promise<string> {
  const { url, port } = await server.listen({ port: 0, host: undefined });
  createServer(server.node).listen(port + 1);
  const answer: Response = await server.fetch(new Request(url));
  await server.stdio();
  await server.close(1000);
  return answer.statusText;
}
