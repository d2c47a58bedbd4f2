import { inputRequired, McpServer } from 'everwire/server';
import { z } from 'zod';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

server.tool('reserve', { description: 'Reserve a book', input: z.object({ title: z.string() }) }, ({ title }, ctx) => {
  const { branch } = ctx.inputResponses;
  if (branch === undefined) {
    return inputRequired({
      inputRequests: {
        branch: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Where do you want to collect it?',
            requestedSchema: {
              type: 'object',
              properties: { name: { type: 'string', enum: ['North', 'South'] } },
              required: ['name'],
            },
          },
        },
      },
      requestState: JSON.stringify({ shelf: title.slice(0, 1) }),
    });
  }
  if (branch['action'] !== 'accept') return 'Not reserved.';
  const { shelf } = JSON.parse(ctx.requestState ?? '{}');
  return `${title}, shelf ${shelf}, waits in ${branch['content'].name}.`;
});
