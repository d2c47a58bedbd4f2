import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { command, expectSum, overStdio, overStreams, run, streams, target } from './load.ts';

function transport(): StdioClientTransport | StdioServerTransport | StreamableHTTPClientTransport {
  if (overStreams) {
    // This client has no stream transport. The server's transport frames messages in the same way.
    const { input, output } = streams();
    return new StdioServerTransport(input, output);
  }
  if (!overStdio) return new StreamableHTTPClientTransport(new URL(target));
  const [file, ...args] = command();
  return new StdioClientTransport({ command: file, args });
}

await run(async () => {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(transport());
  return {
    call: async (n) => {
      const { content } = await client.callTool({ name: 'add', arguments: { a: n, b: 1 } });
      expectSum((content as { text?: string }[])[0]?.text, n);
    },
    close: () => client.close(),
  };
});
