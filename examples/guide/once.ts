import { McpServer } from 'everwire/server';
import { z } from 'zod';

const orders: string[] = [];

function order(title: string): number {
  orders.push(title);
  return orders.length;
}

/** Every process of the deployment creates the same server. */
export function createLibrary(stateKey: string): McpServer {
  const server = new McpServer({ name: 'library', version: '1.0.0', stateKey });
  server.tool(
    'order',
    { description: 'Order a book', input: z.object({ title: z.string() }), safeToRerun: true },
    async ({ title }, ctx) => {
      const number = await ctx.once('order', () => order(title));
      const answer = await ctx.elicit(
        { message: `Order ${number} is placed. Wrap it?`, schema: z.object({ wrap: z.boolean() }) },
        { key: 'wrap' },
      );
      const wrapped = answer.action === 'accept' && answer.content.wrap;
      return `Order ${number} of ${orders.length}, ${wrapped ? 'wrapped' : 'as it is'}`;
    },
  );
  return server;
}
