import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { OfficialClient } from '../interop/clients.ts';
import { bridged } from '../interop/servers.ts';
import type { Request } from '../../src/jsonrpc/message.ts';
import { POST_HEADERS } from '../support/http.ts';
import { modernHeaders, modernRequest } from '../support/modern.ts';
import { RawClient } from '../interop/raw-client.ts';
import { RawModernClient } from '../interop/raw-modern-client.ts';
import {
  descendants,
  eventually,
  isAlive,
  programs,
  root,
  startServer,
  type RunningServer,
} from '../support/process.ts';

const CHILD = `${root}test/fixtures/asking-child.mjs`;
const linux = process.platform === 'linux';

let server: RunningServer | undefined;
const clients: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close().catch(() => {})));
  await server?.stop();
  server = undefined;
});

async function started(options: readonly string[] = [], env?: NodeJS.ProcessEnv): Promise<RunningServer> {
  server = await startServer(bridged([CHILD], ...options).http, env);
  return server;
}

async function session({ url, sseUrl }: RunningServer): Promise<OfficialClient> {
  const client = await RawClient.connect('2025-11-25', 'http', { stdio: [], url, sseUrl });
  clients.push(client);
  return client;
}

async function modern({ url, sseUrl }: RunningServer): Promise<OfficialClient> {
  const client = await RawModernClient.connect('http', { stdio: [], url, sseUrl });
  clients.push(client);
  return client;
}

type Calling = Pick<OfficialClient, 'callTool'>;

async function said(client: Calling, name: string, args: object = {}): Promise<string> {
  return (await client.callTool({ name, arguments: args }))['content'][0].text;
}

function failed(answer: Promise<unknown>): Promise<Error & { code?: number }> {
  return answer.then(
    () => Promise.reject(new Error('it was answered')),
    (error: Error) => error,
  );
}

/** Resident memory in MiB. */
function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) / 1024;
}

/** Makes calls one after the other until `until` settles. Returns the longest duration in milliseconds. */
async function slowest(client: Calling, until: Promise<unknown>): Promise<number> {
  let over = false;
  void until.finally(() => (over = true)).catch(() => {});
  let longest = 0;
  while (!over) {
    const began = performance.now();
    await said(client, 'pid');
    longest = Math.max(longest, performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return longest;
}

describe('a child', () => {
  test.skipIf(process.platform === 'win32')(
    'above its memory limit is killed, its caller gets the reason, and the next call starts another',
    async () => {
      const bridge = await started(['--max-memory', '200']);
      const [greedy, modest] = [await session(bridge), await session(bridge)];
      const before = await said(modest, 'pid');
      const waits = failed(said(greedy, 'wait'));
      await said(greedy, 'allocate', { mebibytes: 250 });
      expect((await waits).message).toMatch(/was stopped: it used \d+ MiB of memory, and the limit is 200 MiB/);
      expect(await said(greedy, 'pid')).toMatch(/^\d+$/);
      expect(await said(modest, 'pid')).toBe(before);
    },
  );

  test('that keeps exiting at once is reported to its callers, with its stderr', async () => {
    // The bridge itself must start.
    server = await startServer([
      ...programs.everwire,
      'bridge',
      '--shared',
      '--port',
      '0',
      '--',
      'sh',
      '-c',
      `if [ -e "$0" ]; then exec env DIES='Error: no licence' "$1" "$2"; else exec "$1" "$2"; fi`,
      `${root}package.json.missing`,
      process.execPath,
      CHILD,
    ]);
    const client = await modern(server);
    for (let death = 0; death < 6; death += 1) {
      expect(await failed(said(client, 'die'))).toMatchObject({
        code: -32000,
        message: expect.stringContaining('code 3'),
      });
    }
    const refused = await failed(said(client, 'pid'));
    expect(refused).toMatchObject({
      code: -32000,
      message: expect.stringMatching(
        /^The server failed 6 times in a row; the next attempt is in \d+ ms: sh exited with code 3/,
      ),
    });
    const again = Number(/in (\d+) ms/.exec(refused.message)![1]);
    await new Promise((resolve) => setTimeout(resolve, again));
    expect(await said(client, 'pid')).toMatch(/^\d+$/);
  });

  test('ends when its session is idle, and starts again', async () => {
    const bridge = await started(['--server-idle-timeout', '1']);
    const client = await session(bridge);
    const before = await said(client, 'pid');
    await eventually(() => !isAlive(Number(before)), 'the child has ended');
    expect(descendants(bridge.pid)).toEqual([]);
    const after = await said(client, 'pid');
    expect(after).not.toBe(before);
    expect(bridge.stderr.filter((line) => line.includes('lost'))).toEqual([]);
  });
});

const CHATTER = 200_000;
/** Together 400 MB, more than the bridge may grow by. */
const CHATTER_BYTES = 2000;

/** Calls a tool that writes the same output repeatedly. Counts the output, and keeps only its end. */
async function chattering(era: 'session' | 'modern', url: string): Promise<{ bytes: number; end: string }> {
  const { body } = await chatter(era, url);
  let bytes = 0;
  let end = '';
  for await (const chunk of body!) {
    bytes += chunk.length;
    end = (end + Buffer.from(chunk).toString()).slice(-500);
  }
  return { bytes, end };
}

async function chatter(era: 'session' | 'modern', url: string, signal: AbortSignal | null = null): Promise<Response> {
  const params = { name: 'chatter', arguments: { count: CHATTER, bytes: CHATTER_BYTES } };
  let headers: Record<string, string> = { ...POST_HEADERS, 'mcp-protocol-version': '2025-11-25' };
  let message: Request = {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { ...params, _meta: { progressToken: 1 } },
  };
  if (era === 'modern') {
    message = modernRequest(2, 'tools/call', {
      ...params,
      _meta: { progressToken: 1, 'io.modelcontextprotocol/logLevel': 'info' },
    });
    headers = modernHeaders(message);
  } else {
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'deaf', version: '1' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize });
    const opened = await fetch(url, { method: 'POST', headers, body });
    await opened.text();
    headers['mcp-session-id'] = opened.headers.get('mcp-session-id')!;
  }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(message), signal });
}

describe.skipIf(!linux)('a child', () => {
  // MiB. The bridge itself grows with the data that passes through it, the more the later its garbage is collected.
  const GROWTH = 300;
  // Milliseconds, generous because the machine may be busy.
  const PATIENCE = 2000;

  test('that writes one endless line to stdout is killed, and others are not affected', async () => {
    const bridge = await started();
    const [ill, well] = [await session(bridge), await session(bridge)];
    await Promise.all([said(ill, 'pid'), said(well, 'pid')]);
    const before = memoryOf(bridge.pid);
    const endless = failed(said(ill, 'endless'));
    expect(await slowest(well, endless)).toBeLessThan(PATIENCE);
    expect((await endless).message).toContain('a message may have at most 16777216 bytes');
    expect(memoryOf(bridge.pid) - before).toBeLessThan(GROWTH);
    expect(await said(ill, 'pid')).toMatch(/^\d+$/);
  });

  test.each(['session', 'modern'] as const)(
    'that floods stdout with messages does not block others, nor fill the bridge’s memory (%s)',
    async (era) => {
      const bridge = await started();
      const well = await session(bridge);
      await said(well, 'pid');
      const before = memoryOf(bridge.pid);
      const chatters = chattering(era, bridge.url);
      expect(await slowest(well, chatters)).toBeLessThan(PATIENCE);
      const { bytes, end } = await chatters;
      expect(end).toContain(`said ${CHATTER}`);
      // Output is dropped only for slow readers, with a warning. On a busy machine, this one may be slow for a moment.
      const isAnnounced = bridge.stderr.some((line) => line.includes('reads too slowly'));
      expect(isAnnounced || bytes > CHATTER * CHATTER_BYTES).toBe(true);
      expect(bytes).toBeGreaterThan(0.9 * CHATTER * CHATTER_BYTES);
      expect(memoryOf(bridge.pid) - before).toBeLessThan(GROWTH);
    },
  );

  test.each(['session', 'modern'] as const)(
    'cannot fill the bridge’s memory or block others by flooding a client that does not read (%s)',
    async (era) => {
      const folder = await mkdtemp(join(tmpdir(), 'everwire-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const calls = join(folder, 'calls');
      const bridge = await started([], { CALLS: calls });
      const well = await session(bridge);
      await said(well, 'pid');
      const before = memoryOf(bridge.pid);
      const reading = new AbortController();
      const { body } = await chatter(era, bridge.url, reading.signal);
      const over = eventually(() => readFileSync(calls, 'utf8').includes('is over'), 'all is said');
      expect(await slowest(well, over)).toBeLessThan(PATIENCE);
      await over;
      expect(memoryOf(bridge.pid) - before).toBeLessThan(GROWTH);
      expect(body!.locked).toBe(false);
      reading.abort();
    },
  );

  test('that floods stderr has its output limited, and others are not affected', async () => {
    const bridge = await started();
    const [ill, well] = [await session(bridge), await session(bridge)];
    await Promise.all([said(ill, 'pid'), said(well, 'pid')]);
    const before = memoryOf(bridge.pid);
    const noise = said(ill, 'noise', { seconds: 3, bytes: 10_000_000 });
    expect(await slowest(well, noise)).toBeLessThan(PATIENCE);
    expect(await noise).toBe('silent');
    expect(memoryOf(bridge.pid) - before).toBeLessThan(GROWTH);
    await bridge.line(/^\(\d+ lines were left out: the server wrote too much\)$/);
    // Of the 30 MB that were written.
    expect(bridge.stderr.join('\n').length).toBeLessThan(6 * 256 * 1024);
  });
});

describe.skipIf(process.platform === 'win32')('no child process is left', () => {
  const everything = ['npm', 'exec', '--no', '--', 'mcp-server-everything', 'stdio'];
  const stubborn = ['sh', '-c', `trap '' TERM HUP INT; "$0" "$1" & "$0" "$1" <&0; while :; do sleep 1; done`];

  test.each([
    ['SIGTERM', 'that runs npm exec', everything],
    ['SIGINT', 'that runs npm exec', everything],
    ['SIGHUP', 'that runs npm exec', everything],
    ['SIGKILL', 'that runs npm exec', everything],
    ['SIGTERM', 'whose child ignores signals and the end of stdin', [...stubborn, process.execPath, CHILD]],
    ['SIGKILL', 'whose child ignores signals and the end of stdin', [...stubborn, process.execPath, CHILD]],
  ] as const)('after %s to a bridge %s', async (signal, _, command) => {
    server = await startServer([...programs.everwire, 'bridge', '--port', '0', '--', ...command]);
    const client = await session(server);
    await client.methods.listTools();
    const family = descendants(server.pid);
    expect(family.length).toBeGreaterThan(1);
    process.kill(server.pid, signal);
    await server.exited;
    await eventually(() => !family.some(isAlive), 'all of them have ended');
  });
});
