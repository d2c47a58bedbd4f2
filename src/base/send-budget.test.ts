import { PassThrough, Writable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { notification, request, type Message } from '../jsonrpc/message.ts';
import { StreamableClient } from '../transport/http/client/streamable-client.ts';
import { streamTransport } from '../transport/stdio/stream.ts';
import type { Transport } from '../transport/transport.ts';
import { sendBudget } from './send-budget.ts';

/** Five of these are more than the limit of all connections together. */
const params = { text: 'x'.repeat(60_000_000) };
/** Over stdio, a notification may not be so large. */
const LARGE: Record<string, Message> = {
  stdio: request(1, 'x', params),
  'Streamable HTTP': notification('notifications/x', params),
};

const OVER: Record<string, () => Transport & { readonly closeReason?: Error | undefined }> = {
  stdio: () => {
    const stuck = new Writable({ highWaterMark: 1, write: () => {} });
    return streamTransport(new PassThrough(), stuck, { role: 'client', drainTimeout: 1 });
  },
  'Streamable HTTP': () =>
    new StreamableClient(new URL('http://localhost/mcp'), { http: () => new Promise(() => {}), acceptTimeout: 0 }),
};

for (const [name, open] of Object.entries(OVER)) {
  test(`over ${name}, at the total limit the connection that has waited longest fails, and the newest one continues`, async () => {
    const transports = [];
    for (let n = 0; n < 5; n += 1) {
      const transport = open();
      onTestFinished(() => transport.close());
      await transport.start();
      transport.send(LARGE[name]!).catch(() => {});
      transports.push(transport);
    }
    expect(transports.map(({ closeReason }) => closeReason?.message.includes('does not read') ?? false)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(sendBudget.bytes).toBeLessThanOrEqual(sendBudget.limit);
    await Promise.all(transports.map((transport) => transport.close()));
    expect(sendBudget.bytes).toBe(0);
  });
}
