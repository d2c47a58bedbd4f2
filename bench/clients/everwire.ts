import { connect, type Target } from 'everwire/client';
import { streamTransport } from 'everwire/stdio';
import { command, expectSum, overStdio, overStreams, run, streams, target } from './load.ts';

function server(): Target {
  if (overStreams) {
    const { input, output } = streams();
    return streamTransport(input, output, { role: 'client' });
  }
  if (!overStdio) return target;
  const [file, ...args] = command();
  return { command: file, args };
}

await run(async () => {
  const client = await connect(server(), { revision: '2025-11-25' });
  return {
    call: async (n) => {
      const { content } = await client.callTool('add', { a: n, b: 1 });
      expectSum(content[0]?.type === 'text' ? content[0].text : undefined, n);
    },
    close: () => client.close(),
  };
});
