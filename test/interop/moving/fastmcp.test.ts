import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually, root, startNode } from '../../support/process.ts';
import { accepts, freePort } from './commands.ts';
import { shown } from './notes.ts';

const fileOf = (name: string): string => `${root}dist/examples/moving/fastmcp/${name}.js`;

async function startHttp(name: string): Promise<URL> {
  const port = await freePort();
  const server = startNode([fileOf(name)], { PORT: String(port) });
  onTestFinished(async () => void (await server.stop()));
  await eventually(() => accepts(port), `${name} listens`);
  return new URL(`http://127.0.0.1:${port}/mcp`);
}

const overHttp = async (name: string): Promise<Transport> =>
  new StreamableHTTPClientTransport(await startHttp(name), { requestInit: { headers: { 'x-api-key': 'key-of-ada' } } });

const overStdio = async (name: string): Promise<Transport> =>
  new StdioClientTransport({ command: process.execPath, args: [fileOf(name), '--stdio'], stderr: 'ignore' });

/** Uses everything that the library server has. */
async function tour(transport: Transport): Promise<Record<string, unknown>> {
  const client = new Client({ name: 'reader', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept',
    content: { days: params.message.length },
  }));
  await client.connect(transport);
  onTestFinished(() => client.close());
  const seen: Record<string, unknown> = {
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools.map(shown),
    resources: await client.listResources(),
    prompts: (await client.listPrompts()).prompts.map(({ name, description }) => [name, description]),
    rules: await client.readResource({ uri: 'library://rules' }),
    book: (await client.readResource({ uri: 'library://books/momo' })).contents,
    prompt: (await client.getPrompt({ name: 'recommend', arguments: { genre: 'crime' } })).messages,
  };
  const calls = [
    { name: 'search', arguments: { words: 'o' } },
    { name: 'lend', arguments: { id: 'jim' } },
    { name: 'lend', arguments: { id: 'nothing' } },
    { name: 'cover', arguments: {} },
  ];
  const results = [];
  for (const each of calls) {
    const { content, structuredContent, isError = false } = await client.callTool(each);
    results.push({ content, structuredContent, isError });
  }
  const complete = async (
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
    name: string,
  ) => (await client.complete({ ref, argument: { name, value: 'm' } })).completion.values;
  return {
    ...seen,
    results,
    ids: await complete({ type: 'ref/resource', uri: 'library://books/{id}' }, 'id'),
  };
}

describe('the library server, moved from FastMCP', () => {
  test('does the same over HTTP', async () => {
    const then = await tour(await overHttp('fastmcp'));
    expect(await tour(await overHttp('everwire'))).toEqual(then);
    expect(JSON.stringify(then)).toContain('Lent by ada for 9 days');
  });

  test('does the same over stdio', async () => {
    const then = await tour(await overStdio('fastmcp'));
    expect(await tour(await overStdio('everwire'))).toEqual(then);
    expect(JSON.stringify(then)).toContain('Lent by nobody for 9 days');
  });

  test.each(['fastmcp', 'everwire'])('%s refuses a caller without a key', async (name) => {
    const url = await startHttp(name);
    const client = new Client({ name: 'reader', version: '1.0.0' });
    await expect(client.connect(new StreamableHTTPClientTransport(url))).rejects.toMatchObject({ code: 401 });
  });
});
