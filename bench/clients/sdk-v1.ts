import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
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
