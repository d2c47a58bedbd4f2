import { connect, type Target } from 'everwire/client';
import { command, expectSum, overStdio, run, target } from './load.ts';

const [file, ...args] = overStdio ? command() : [''];
const server: Target = overStdio ? { command: file, args } : target;
const client = await connect(server, { revision: '2025-11-25' });
run(async (n) => {
  const { content } = await client.callTool('add', { a: n, b: 1 });
  expectSum(content[0]?.type === 'text' ? content[0].text : undefined, n);
});
