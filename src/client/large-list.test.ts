import { expect, test } from 'vitest';
import { clientOf, PlayedServer } from '../../test/ledger/played-server.ts';

test('a complete list above 128 MiB fails, but its pages can be read one by one', async () => {
  let pages = 0;
  const description = 'x'.repeat(15 * 1024 * 1024);
  const server = new PlayedServer({
    'tools/list': () => {
      pages += 1;
      const tool = { name: `t${pages}`, description, inputSchema: { type: 'object' } };
      return { tools: [tool], ...(pages % 10 !== 0 && { nextCursor: `${pages}` }) };
    },
  });
  const { client } = await clientOf(server);
  await expect(client.listTools()).rejects.toThrow('more than 134217728 bytes of memory: read it page by page');
  expect(pages).toBe(9);
  pages = 0;
  let tools = 0;
  for await (const { name } of client.tools()) if (name !== '') tools += 1;
  expect(tools).toBe(10);
});
