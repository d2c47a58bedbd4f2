import { expect, onTestFinished, test } from 'vitest';
import { connect } from './connect.ts';

/** Answers the handshake and a call with its process id, then closes its stdout and lives on. */
const SERVER = `
process.on('SIGTERM', () => {});
process.on('uncaughtException', () => {});
const answer = (id, more) => require('fs').writeSync(1, JSON.stringify({ jsonrpc: '2.0', id, ...more }) + '\\n');
require('readline').createInterface(process.stdin).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const serverInfo = { name: 'x', version: '1' };
  if (method === 'initialize') answer(id, { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  else if (method === 'tools/call') {
    answer(id, { result: { content: [{ type: 'text', text: String(process.pid) }] } });
    require('fs').closeSync(1);
  } else if (id !== undefined) answer(id, { result: {} });
});
setInterval(() => {}, 1000);`;

test('a call made while the process of the server is ending runs in a new process', async () => {
  const command = { command: process.execPath, args: ['-e', SERVER], stderr: 'ignore' } as const;
  const client = await connect(command, { clientInfo: { name: 'a', version: '1' }, eras: 'legacy', onerror: () => {} });
  onTestFinished(() => client.close());
  const pid = async (): Promise<number> => {
    const [first] = (await client.callTool('t', {})).content;
    return Number(first?.type === 'text' && first.text);
  };
  const ending = await pid();
  const others: number[] = [];
  // The connection closes some time after the answer. A call that was sent before then fails.
  const call = (): number => {
    pid().then(
      (other) => others.push(other),
      () => {},
    );
    return others.length;
  };
  await expect.poll(call).toBeGreaterThan(0);
  expect(others).not.toContain(ending);
  expect(process.kill(ending, 0)).toBe(true);
  await client.close();
  expect(() => process.kill(ending, 0)).toThrow('ESRCH');
});

/** The first call of a process makes it read no more. It ends at SIGHUP. */
const DEAF = `
process.on('SIGHUP', () => {
  require('fs').writeSync(2, 'Error: out of memory\\n');
  process.exit(3);
});
const answer = (id, result) => require('fs').writeSync(1, JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
const reader = require('readline').createInterface(process.stdin);
reader.on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: 'x', version: '1' };
  if (method === 'initialize') answer(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
  if (method !== 'tools/call') return;
  answer(id, { content: [{ type: 'text', text: String(process.pid) }] });
  if (params.name !== 'deaf') return;
  process.stdin.pause();
  setInterval(() => {}, 1000);
});`;

test('a call that was not written to a process before it ended runs in a new process', async () => {
  const command = { command: process.execPath, args: ['-e', DEAF], stderr: 'capture' } as const;
  const client = await connect(command, { clientInfo: { name: 'a', version: '1' }, eras: 'legacy', onerror: () => {} });
  onTestFinished(() => client.close());
  const call = async (name: string, text = ''): Promise<number> => {
    const [first] = (await client.callTool(name, { text })).content;
    return Number(first?.type === 'text' && first.text);
  };
  const deaf = await call('deaf');
  const calls = Array.from({ length: 64 }, () => call('t', 'x'.repeat(1_000_000)));
  process.kill(deaf, 'SIGHUP');
  const [written, ...waiting] = await Promise.allSettled(calls);
  expect(written).toMatchObject({
    reason: { message: expect.stringMatching(/node.* exited with code 3: Error: out of memory$/), notExecuted: false },
  });
  const processes = new Set(waiting.map((each) => (each.status === 'fulfilled' ? each.value : each.reason)));
  expect([...processes]).toEqual([expect.any(Number)]);
  expect(processes).not.toContain(deaf);
});
