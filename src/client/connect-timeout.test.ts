import { expect, onTestFinished, test, vi } from 'vitest';
import { scripted } from '../../test/support/http-server.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { connect } from './connect.ts';

/** The client's end of a connection to a handshake server that answers nothing but the handshake. */
async function handshakes() {
  const [near, far] = memoryTransportPair();
  far.onmessage = (message) => {
    if (!('method' in message) || message.method !== 'initialize' || !('id' in message)) return;
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
    void far.send({ jsonrpc: '2.0', id: message.id, result });
  };
  await far.start();
  return near;
}

test.each([0, 2 ** 31, Infinity])('connecting without a time limit does not time out: %d', async (connectTimeout) => {
  const server = await scripted(({ body }, response) => {
    const result = { supportedVersions: ['2026-07-28'], capabilities: {} };
    setTimeout(() => response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result })), 50);
    response.setHeader('content-type', 'application/json');
  });
  const client = await connect(server.url, { connectTimeout });
  expect(client.revision).toBe('2026-07-28');
  await client.close();
});

test.each([0, Infinity])(
  'without a connect timeout, a silent server is not taken for a modern one: %d',
  async (connectTimeout) => {
    const client = await connect(await handshakes(), { connectTimeout, probeTimeout: 20 });
    expect(client.revision).toBe('2025-11-25');
    await client.close();
  },
);

test('a server may take the whole connect timeout to answer', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const connecting = connect(await handshakes(), { connectTimeout: 60_000, probeTimeout: 0 });
  const settled = vi.fn<() => void>();
  connecting.then(settled, settled);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(32_000);
  await (await connecting).close();
});
