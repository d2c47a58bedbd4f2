import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Connections } from './connections.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** A slot whose worker keeps what it is passed. */
function slot(): { readonly slot: WorkerSlot; readonly passed: Socket[] } {
  const passed: Socket[] = [];
  return { slot: { pass: (socket: Socket) => void passed.push(socket) } as unknown as WorkerSlot, passed };
}

async function listening(maxWaiting: number): Promise<{ connections: Connections; open: () => Promise<Socket> }> {
  const connections = new Connections(maxWaiting);
  const port = await connections.listen('127.0.0.1', 0, () => {});
  onTestFinished(() => connections.close());
  const open = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket.resume())).once('error', reject);
      onTestFinished(() => void socket.destroy());
    });
  return { connections, open };
}

test('a connection beyond those that may wait for a worker is closed', async () => {
  const { connections, open } = await listening(2);
  const [first, second, third] = [await open(), await open(), await open()];
  await expect.poll(() => third.closed).toBe(true);
  const { slot: worker, passed } = slot();
  connections.add(worker);
  connections.add(worker);
  expect(passed).toHaveLength(2);
  // They have left the queue, so others can wait.
  const fourth = await open();
  connections.add(worker);
  await expect.poll(() => passed).toHaveLength(3);
  expect([first, second, fourth].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
});

test('connections that wait are closed on demand, and later ones are served', async () => {
  const { connections, open } = await listening(2);
  const waiting = await open();
  await expect.poll(() => connections.closeWaiting()).toBe(true);
  await expect.poll(() => waiting.closed).toBe(true);
  expect(connections.closeWaiting()).toBe(false);
  const { slot: worker, passed } = slot();
  connections.add(worker);
  expect((await open()).destroyed).toBe(false);
  await expect.poll(() => passed).toHaveLength(1);
});
