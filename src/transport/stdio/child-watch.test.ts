import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { request, type JsonObject } from '../../jsonrpc/message.ts';
import { childTransport, type ChildOptions, type ChildTransport } from './child.ts';
import { watchMemory } from './memory-watch.ts';
import { watchdog } from './watchdog.ts';

vi.mock('./memory-watch.ts', () => ({ watchMemory: vi.fn<typeof watchMemory>(() => () => {}) }));

const CHILD = fileURLToPath(new URL('../../../test/fixtures/child.mjs', import.meta.url));

const opened: ChildTransport[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
});

async function start(options: Partial<ChildOptions> = {}) {
  const transport = childTransport({ command: process.execPath, args: [CHILD], stderr: 'capture', ...options });
  opened.push(transport);
  const errors: string[] = [];
  const waiting = new Map<unknown, () => void>();
  transport.onerror = (error) => void errors.push(error.message);
  transport.onmessage = ({ id }) => waiting.get(id)?.();
  await transport.start();
  let lastId = 0;
  const ask = async (method: string, params?: JsonObject): Promise<void> => {
    const id = ++lastId;
    const answered = new Promise<void>((resolve) => waiting.set(id, resolve));
    await transport.send(request(id, method, params));
    await answered;
  };
  return { transport, errors, ask };
}

test('memory that cannot be measured is reported once, and is not measured after the child has exited', async () => {
  const unwatch = vi.fn<() => void>();
  vi.mocked(watchMemory).mockReturnValueOnce(unwatch);
  const { transport, errors } = await start({ maxMemory: 1_000_000 });
  const [tree] = vi.mocked(watchMemory).mock.lastCall!;
  expect([tree.pid, tree.limit]).toEqual([transport.pid, 1_000_000]);
  tree.onerror(new Error('no ps'));
  tree.onerror(new Error('no ps'));
  expect(errors).toEqual(['The memory of node is not limited: no ps']);
  expect(unwatch).not.toHaveBeenCalled();
  await transport.close();
  expect(unwatch).toHaveBeenCalledOnce();
});

test.skipIf(process.platform === 'win32')('the processes of an exited child are not measured', async () => {
  const forget = vi.spyOn(watchdog, 'forget');
  const before = process.listenerCount('exit');
  const { transport } = await start({ watchdog: true });
  expect(process.listenerCount('exit')).toBe(before + 1);
  const { pid } = transport;
  await transport.close();
  expect(process.listenerCount('exit')).toBe(before);
  expect(forget).toHaveBeenCalledExactlyOnceWith(pid);
});

test('by default, a child gets stopTimeout again after SIGTERM', async () => {
  const { transport, ask } = await start({ stopTimeout: 51 });
  await ask('stubborn');
  const timers = vi.spyOn(globalThis, 'setTimeout');
  await transport.close();
  expect(transport.exit?.signal).toBe('SIGKILL');
  const delays = timers.mock.calls.map(([, delay]) => delay);
  expect(delays.filter((delay) => delay === 51).length).toBeGreaterThan(1);
  expect(delays).not.toContain(2000);
});

test('a child’s stderr is read no faster than this process can write it', async () => {
  const written: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    written.push(String(chunk));
    return false;
  });
  const { ask } = await start({ stderr: 'inherit' });
  await ask('stderr', { text: 'first\n' });
  await vi.waitFor(() => expect(written.join('')).toBe('first\n'));
  await ask('stderr', { text: 'second\n' });
  for (let n = 0; n < 5; n += 1) await ask('echo');
  expect(written.join('')).toBe('first\n');
  process.stderr.emit('drain');
  await vi.waitFor(() => expect(written.join('')).toBe('first\nsecond\n'));
});
