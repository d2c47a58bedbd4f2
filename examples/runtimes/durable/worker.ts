import { McpServer } from 'everwire/server';
import { durableState, type DurableContext, type DurableState } from 'everwire/workers';
import { z } from 'zod';

/** What `wrangler.toml` binds, and what `wrangler secret put STATE_KEY` has set. */
interface Env {
  readonly LIBRARY: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
  readonly STATE_KEY: string;
}

const Answer = z.object({ name: z.string() });

function createServer(stateKey: string, state: DurableState): McpServer {
  // The object has 128 MB of memory.
  const http = { state, maxBufferedBytes: 32 * 1024 * 1024 };
  const server = new McpServer({ name: 'library', version: '1.0.0', stateKey, http });
  server.tool(
    'reserve',
    { description: 'Reserve a book', input: z.object({ title: z.string() }), safeToRerun: true },
    async ({ title }, ctx) => {
      const answer = await ctx.elicit({ message: `Who wants ${title}?`, schema: Answer });
      return answer.action === 'accept' ? `Reserved for ${answer.content.name}` : 'Nothing was reserved';
    },
  );
  return server;
}

export class Library {
  readonly #state: DurableState;
  readonly #server: McpServer;

  constructor(ctx: DurableContext, { STATE_KEY }: Env) {
    this.#state = durableState(ctx);
    this.#server = createServer(STATE_KEY, this.#state);
  }

  fetch(request: Request): Promise<Response> {
    return this.#server.fetch(request);
  }

  /** Removes what has expired. */
  alarm(): Promise<void> {
    return this.#state.expire();
  }
}

export default {
  fetch(request: Request, { LIBRARY }: Env): Promise<Response> {
    return LIBRARY.getByName('library').fetch(request);
  },
};
