import { expect, onTestFinished, test, vi } from 'vitest';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { memoryEraCache } from '../wire/era-cache.ts';
import { connect } from './connect.ts';
import { ConnectionError, TimeoutError } from './errors.ts';
import type { ClientOptions } from './options.ts';

const welcome = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };

/** A server that exits at its first request unless that is `initialize`, which it answers as given. */
const ending = (answer: object): string => `
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    if (method !== 'initialize' && method !== 'ping') process.exit(3);
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(method === 'ping' ? { result: {} } : ${JSON.stringify(answer)}) }));
  });`;

function command(script: string) {
  const starts = vi.fn<() => void>();
  const onstderr = (line: string): void => {
    if (line === 'started') starts();
  };
  return {
    target: { command: process.execPath, args: ['-e', `console.error('started');${script}`], onstderr },
    starts,
  };
}

/** A process says on stderr that it has started. Its other output may be read before that. */
async function expectStarts(starts: ReturnType<typeof command>['starts'], count: number): Promise<void> {
  await expect.poll(() => starts.mock.calls.length).toBe(count);
}

test('a command that exits on server/discover is started again, and later only once', async () => {
  const { target, starts } = command(ending({ result: welcome }));
  const eraCache = memoryEraCache();
  const onerror = vi.fn<(error: Error) => void>();
  for (const count of [2, 3]) {
    const client = await connect(target, { eraCache, onerror });
    expect(client.revision).toBe('2025-11-25');
    await client.ping();
    await client.close();
    await expectStarts(starts, count);
  }
  expect(onerror).not.toHaveBeenCalled();
});

test('a server that exits on any input is started twice, and its own error is shown', async () => {
  const { target, starts } = command(`console.error('no database');process.stdin.on('data', () => process.exit(3))`);
  const connecting = connect(target, { eraCache: memoryEraCache() });
  const error = await connecting.catch((thrown: Error) => thrown);
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).toContain('code 3');
  expect((error as Error).message).not.toContain('pinned');
  await expectStarts(starts, 2);
});

test('a server that then refuses the handshake fails with its own error', async () => {
  const { target, starts } = command(ending({ error: { code: -32603, message: 'no licence' } }));
  await expect(connect(target, { eraCache: memoryEraCache() })).rejects.toThrow(/initialize failed: no licence/);
  await expectStarts(starts, 2);
});

test('a server is started only once if it cannot be started, or if the era is given', async () => {
  const absent = connect({ command: '/no/such/command' }, { eraCache: memoryEraCache() });
  await expect(absent).rejects.toThrow('there is no such file');
  const { target, starts } = command(ending({ result: welcome }));
  await expect(connect(target, { eras: 'modern' })).rejects.toThrow('code 3');
  await expectStarts(starts, 1);
});

/** Connections to a server that exits on `server/discover` after the given time, and does not answer anything else. */
function transports(after: number) {
  const make = vi.fn<() => Transport>(() => {
    const [near, far] = memoryTransportPair();
    far.onmessage = (message) => {
      if ('method' in message && message.method === 'server/discover') setTimeout(() => void far.close(), after);
    };
    void far.start();
    return near;
  });
  return make;
}

async function failing(target: Parameters<typeof connect>[0], options: ClientOptions) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const start = performance.now();
  const failed = connect(target, options).catch((error: Error) => ({ error, after: performance.now() - start }));
  await vi.runAllTimersAsync();
  return (await failed) as { error: Error; after: number };
}

test('both attempts together are limited by one connect timeout', async () => {
  const make = transports(2000);
  const { error, after } = await failing(make, { connectTimeout: 6000 });
  expect(error).toBeInstanceOf(TimeoutError);
  expect(after).toBeGreaterThanOrEqual(5990);
  expect(after).toBeLessThanOrEqual(6010);
  expect(make).toHaveBeenCalledTimes(2);
});

test('the probe and the handshake with a silent server are limited by one connect timeout', async () => {
  const make = transports(100_000);
  const { error, after } = await failing(make, { connectTimeout: 3000 });
  expect(error).toBeInstanceOf(TimeoutError);
  expect(after).toBeGreaterThanOrEqual(2990);
  expect(after).toBeLessThanOrEqual(3010);
  expect(make).toHaveBeenCalledTimes(1);
});

test('a server that starts slowly and exits on its first input gets one more connection', async () => {
  const make = transports(12_000);
  const { error, after } = await failing(make, { connectTimeout: 20_000, probeTimeout: 5000 });
  expect(error).toBeInstanceOf(TimeoutError);
  expect(after).toBeLessThanOrEqual(20_010);
  expect(make).toHaveBeenCalledTimes(2);
});

test('a transport given by the caller is not reopened, and the error says what to do', async () => {
  const make = transports(0);
  const { error } = await failing(make(), {});
  expect(error.message).toMatch(/exits when it gets server\/discover, set the option "eras" to "legacy"/);
  expect(make).toHaveBeenCalledTimes(1);
});
