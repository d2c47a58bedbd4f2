import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Capture } from '../inspect/capture.ts';
import { HttpPeer } from './http-peer.ts';
import { Marks } from './marks.ts';
import { StdioChild } from './stdio-child.ts';

const LIMIT = 32 * 1024 * 1024;
const { signal } = new AbortController();
const notice = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(1000) } });

test('a stream that does not end is read up to its limit', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (): void => {
      while (!response.destroyed && response.write(`data: ${notice}\n\n`.repeat(100)));
    };
    response.on('drain', write);
    write();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const marks = new Marks(new Capture());
  const peer = new HttpPeer({ url, headers: {}, authorizer: undefined, marks, patience: 600_000, signal });
  onTestFinished(() => peer.close());
  const { events, isWhole } = await peer.ask({ method: 'POST', headers: {}, body: '{}' });
  expect(isWhole).toBe(false);
  expect(events.length * notice.length).toBeGreaterThan(LIMIT * 0.9);
  expect(events.length * notice.length).toBeLessThan(LIMIT * 1.1);
});

test('of what a command writes, the messages are kept up to a limit', async () => {
  const flood = `process.stdout.write(${JSON.stringify(`${notice}\n`)}.repeat(40_000))`;
  const target = { command: process.execPath, args: ['-e', flood] };
  const child = await StdioChild.start(target, new Marks(new Capture()));
  onTestFinished(() => child.close());
  expect(await child.find(() => false, 600_000, signal)).toBeUndefined();
  expect(child.seen.length * notice.length).toBeGreaterThan(LIMIT * 0.9);
  expect(child.seen.length * notice.length).toBeLessThanOrEqual(LIMIT);
});
