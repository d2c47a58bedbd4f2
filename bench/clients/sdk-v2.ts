import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { command, expectSum, overStdio, run, target } from './load.ts';

const client = new Client({ name: 'bench', version: '1.0.0' });
const [file, ...args] = overStdio ? command() : [''];
await client.connect(
  overStdio ? new StdioClientTransport({ command: file, args }) : new StreamableHTTPClientTransport(new URL(target)),
);
run(async (n) => {
  const { content } = await client.callTool({ name: 'add', arguments: { a: n, b: 1 } });
  expectSum((content as { text?: string }[])[0]?.text, n);
});
