import { expect, onTestFinished, test } from 'vitest';
import { connect } from './connect.ts';

/** Answers the handshake and a call, then closes its stdout and lives on. */
const SERVER = `
const answer = (id, more) => require('fs').writeSync(1, JSON.stringify({ jsonrpc: '2.0', id, ...more }) + '\\n');
require('readline').createInterface(process.stdin).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const serverInfo = { name: 'x', version: '1' };
  if (method === 'initialize') answer(id, { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  else if (method === 'tools/call') {
    answer(id, { result: { content: [] } });
    require('fs').closeSync(1);
  } else if (id !== undefined) answer(id, { result: {} });
});
setInterval(() => {}, 1000);`;

test('a call made while the process of the server is ending certainly did not run', async () => {
  const command = { command: process.execPath, args: ['-e', SERVER], stderr: 'ignore' } as const;
  const client = await connect(command, { clientInfo: { name: 'a', version: '1' }, eras: 'legacy', onerror: () => {} });
  onTestFinished(() => client.close());
  // The connection closes some time after the answer. A call that was sent before then may have run.
  await expect
    .poll(() => client.callTool('t', {}).catch((error: unknown) => error), { timeout: 10_000 })
    .toMatchObject({ name: 'ConnectionError', notExecuted: true });
});
