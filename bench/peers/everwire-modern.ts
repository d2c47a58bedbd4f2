import { McpServer } from 'everwire/server';
import { z } from 'zod';
import { ready } from './host.ts';

/** A server with as many tools as the argument says, including `add` and `change`. The default is 2. */
const count = Number(process.argv[2] ?? 2);
const server = new McpServer({ name: 'everwire', version: '1.0.0', maxSubscriptions: 20_000 });
server.tool('add', { input: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => String(a + b));
let changes = 0;
server.tool('change', {}, () => {
  server.tool(`tool-${++changes}-new`, {}, () => 'new').remove();
  return 'changed';
});
for (let n = 3; n <= count; n += 1) {
  const input = z.object({ query: z.string().describe('What to look for'), limit: z.number().int().optional() });
  server.tool(`tool-${n}`, { description: `Looks for things of kind ${n}`, input }, ({ query }) => query);
}
const { url } = await server.listen({ port: 0 });
ready(url);
