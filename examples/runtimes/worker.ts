import { McpServer } from 'everwire/server';
import { z } from 'zod';

/** What `wrangler secret put STATE_KEY` has set. */
interface Env {
  readonly STATE_KEY: string;
}

const Answer = z.object({ name: z.string() });
let server: McpServer | undefined;

function createServer(stateKey: string): McpServer {
  const made = new McpServer({ name: 'library', version: '1.0.0', stateKey });
  made.tool('opening_hours', { description: 'When the library is open' }, () => 'Monday to Saturday, 9 to 17');
  made.tool(
    'reserve',
    { description: 'Reserve a book', input: z.object({ title: z.string() }), safeToRerun: true },
    async ({ title }, ctx) => {
      const answer = await ctx.elicit({ message: `Who wants ${title}?`, schema: Answer });
      if (answer.action !== 'accept') return 'Nothing was reserved';
      const number = await ctx.once('reservation', () => crypto.randomUUID());
      return `Reserved for ${answer.content.name}: ${number}`;
    },
  );
  return made;
}

export default {
  fetch(request: Request, { STATE_KEY }: Env): Promise<Response> {
    server ??= createServer(STATE_KEY);
    return server.fetch(request);
  },
};
