import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { notification } from '../../jsonrpc/message.ts';
import { childTransport } from './child.ts';

const CHILD = fileURLToPath(new URL('../../../test/fixtures/child.mjs', import.meta.url));

/** Starts children that print to this process's stderr. Nobody reads that. */
async function unreadChildren(count: number) {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(false);
  const transports = Array.from({ length: count }, () => childTransport({ command: process.execPath, args: [CHILD] }));
  onTestFinished(async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    write.mockRestore();
  });
  const printed = (): string => write.mock.calls.map(([chunk]) => String(chunk)).join('');
  const print = async (text: string): Promise<void> => {
    await Promise.all(transports.map((transport) => transport.send(notification('stderr', { text }))));
  };
  await Promise.all(transports.map((transport) => transport.start()));
  return { transports, print, printed };
}

test('however many children wait for stderr, it has one listener', async () => {
  const { print, printed } = await unreadChildren(12);
  await print('one\n');
  await expect.poll(printed).toBe('one\n'.repeat(12));
  expect(process.stderr.listenerCount('drain')).toBe(1);
});

test.each(['drain', 'close'])('a child is read again after the event %s of stderr', async (event) => {
  const { print, printed } = await unreadChildren(1);
  await print('one\n');
  await expect.poll(printed).toBe('one\n');
  process.stderr.emit(event);
  await print('two\n');
  await expect.poll(printed).toBe('one\ntwo\n');
});

test('the last output of a child that has exited is read at once', async () => {
  const { transports, print, printed } = await unreadChildren(1);
  await print('one\n');
  await expect.poll(printed).toBe('one\n');
  const last = `${'x '.repeat(50_000)}\nwhy\n`;
  await transports[0]!.send(notification('exit', { code: 3, stderr: last }));
  await expect.poll(() => transports[0]!.closeReason?.message).toBe('node exited with code 3: why');
  expect(printed()).toBe(`one\n${last}`);
});
