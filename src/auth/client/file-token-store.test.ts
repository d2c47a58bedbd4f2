import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  lstat,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { tokenStoreSuite } from '../../testing/contracts/token-store-suite.ts';
import { processesHere } from './lock-file.ts';
import { FileTokenStore } from './file-token-store.ts';

vi.mock('node:fs/promises', { spy: true });
vi.mock('node:timers/promises', { spy: true });

const KEY = { server: 'https://mcp.example/mcp', issuer: 'https://auth.example' };
const CREDENTIALS = { client: { clientId: 'app', redirectUris: [] } };

let root: string;
let folder: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'everwire-tokens-'));
  folder = path.join(root, 'made', 'tokens');
});
afterEach(() => rm(root, { recursive: true }));

const modeOf = async (file: string): Promise<number> => (await stat(file)).mode & 0o777;
const files = async (): Promise<string[]> => (await readdir(folder)).map((name) => path.join(folder, name));

describe('credentials in files', () => {
  for (const { name, run } of tokenStoreSuite(() => [new FileTokenStore(folder), new FileTokenStore(folder)])) {
    test(name, run);
  }

  test.skipIf(process.platform === 'win32')('are readable only by their owner, and so is their folder', async () => {
    await new FileTokenStore(folder).set(KEY, CREDENTIALS);
    expect(await modeOf(folder)).toBe(0o700);
    const [file, ...others] = await files();
    expect(others).toEqual([]);
    expect(await modeOf(file!)).toBe(0o600);
  });

  test.skipIf(process.platform === 'win32')('make the folder private if it was open to others', async () => {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o755);
    await new FileTokenStore(folder).set(KEY, CREDENTIALS);
    expect(await modeOf(folder)).toBe(0o700);
  });

  test('leave no other file behind', async () => {
    const store = new FileTokenStore(folder);
    for (let n = 0; n < 5; n++) await store.locked(KEY, () => store.set(KEY, CREDENTIALS));
    expect(await readdir(folder)).toHaveLength(1);
  });

  const TOKENS = { accessToken: 'a', tokenType: 'Bearer', scopes: [], resource: KEY.server, clientId: 'app' };
  const withTokens = (tokens: unknown): [string] => [JSON.stringify({ ...KEY, credentials: { tokens } })];
  test.each([
    ...[['not JSON'], ['null'], ['{"credentials":7}'], [''], [' '.repeat(2 ** 20 + 1)]],
    [JSON.stringify({ ...KEY, issuer: ['x'], credentials: {} })],
    [JSON.stringify({ ...KEY, credentials: { client: { clientId: 'app' } } })],
    ...['text', {}, { ...TOKENS, accessToken: 'a\nb' }, { ...TOKENS, refreshToken: 7 }].map(withTokens),
    ...[
      { scopes: 'a b' },
      { tokenType: 'mac' },
      { expiresAt: 'x' },
      { metadataUrl: 5 },
      { dpopKey: 'x' },
      { grantedScopes: 'a' },
    ].map((wrong) => withTokens({ ...TOKENS, ...wrong })),
  ])('count as missing if the content is damaged (case %#)', async (text) => {
    const store = new FileTokenStore(folder);
    await store.set(KEY, CREDENTIALS);
    await writeFile((await files())[0]!, text);
    expect(await store.get(KEY)).toBeUndefined();
    expect(await store.issuers(KEY.server)).toEqual([]);
    await store.set(KEY, CREDENTIALS);
    expect(await store.get(KEY)).toEqual(CREDENTIALS);
  });

  test.skipIf(process.platform === 'win32')('count as missing if the file is a pipe', async () => {
    const store = new FileTokenStore(folder);
    await store.set(KEY, CREDENTIALS);
    const [file] = await files();
    await rm(file!);
    execFileSync('mkfifo', [file!]);
    expect(await store.get(KEY)).toBeUndefined();
    await store.set(KEY, CREDENTIALS);
    expect(await store.get(KEY)).toEqual(CREDENTIALS);
  });

  test('do not reveal the server or the issuer in the file name', async () => {
    await new FileTokenStore(folder).set(KEY, CREDENTIALS);
    expect((await readdir(folder))[0]).toMatch(/^[0-9a-f]{32}-[0-9a-f]{32}\.json$/);
  });
});

describe('a disk that becomes full', () => {
  const BLOCK = 4096;
  const FULL = 'ENOSPC: no space left on device';

  /** Opens files as on a disk with this many free blocks, of which an empty file needs none. */
  function diskWith(free: number) {
    const disk = { free };
    vi.mocked(open).mockImplementation(async (...args) => {
      const real = await vi.importActual<{ open: typeof open }>('node:fs/promises');
      const handle = await real.open(...args);
      const write = handle.writeFile.bind(handle);
      handle.writeFile = async (content) => {
        const needed = Math.ceil((content as string).length / BLOCK) - (await handle.stat()).blocks * (512 / BLOCK);
        if (needed > disk.free) throw Object.assign(new Error(FULL), { code: 'ENOSPC' });
        disk.free -= Math.max(0, needed);
        await write(content);
      };
      return handle;
    });
    onTestFinished(() => void vi.mocked(open).mockReset());
    return disk;
  }

  const tokens = {
    ...{ accessToken: 'a'.repeat(16_384), refreshToken: 'r'.repeat(16_384), tokenType: 'Bearer' as const },
    ...{ scopes: ['s'.repeat(16_384)], resource: KEY.server, clientId: 'app' },
  };

  test.each([0, 1, 2, 8])('fails a section before it begins if %i blocks are free', async (free) => {
    const store = new FileTokenStore(folder);
    await store.set(KEY, CREDENTIALS);
    diskWith(free);
    const section = vi.fn<() => Promise<void>>();
    await expect(store.locked(KEY, section)).rejects.toThrow(FULL);
    expect(section).not.toHaveBeenCalled();
    expect(await store.get(KEY)).toEqual(CREDENTIALS);
    expect(await files()).toHaveLength(1);
  });

  test('during a section leaves space for its new tokens', async () => {
    const store = new FileTokenStore(folder);
    await store.set(KEY, CREDENTIALS);
    const disk = diskWith(1000);
    await store.locked(KEY, async () => {
      disk.free = 0;
      await store.set(KEY, { ...CREDENTIALS, tokens });
    });
    expect(await store.get(KEY)).toEqual({ ...CREDENTIALS, tokens });
    expect(await files()).toHaveLength(1);
  });

  test('leaves no space reserved after a process was killed, once another has got tokens', async () => {
    const store = new FileTokenStore(folder);
    await store.set(KEY, CREDENTIALS);
    const [file] = await files();
    await writeFile(`${file!}.reserve`, 'rest');
    await store.locked(KEY, () => store.set(KEY, { ...CREDENTIALS, tokens }));
    expect(await store.get(KEY)).toEqual({ ...CREDENTIALS, tokens });
    expect(await files()).toHaveLength(1);
  });
});

describe('a lock', () => {
  async function lockPath(): Promise<string> {
    const store = new FileTokenStore(folder);
    let lock!: string;
    await store.locked(KEY, async () => {
      lock = (await files()).find((file) => file.endsWith('.lock'))!;
    });
    return lock;
  }

  const enter = (signal?: AbortSignal): Promise<string> =>
    new FileTokenStore(folder).locked(KEY, () => Promise.resolve('entered'), signal);

  /** Makes waits take no time. Returns how long they would have taken in total, in milliseconds. */
  function withoutWaiting(): () => number {
    let waited = 0;
    vi.mocked(delay).mockImplementation((milliseconds = 0) => {
      waited += milliseconds;
      return new Promise((resolve) => void setImmediate(resolve));
    });
    onTestFinished(() => void vi.mocked(delay).mockReset());
    return () => waited;
  }

  /** No other holder enters while the lock exists. */
  const expectRespected = async (lock: string): Promise<void> => {
    const held = await readFile(lock, 'utf8');
    const leaving = new AbortController();
    vi.mocked(lstat).mockClear();
    const entering = enter(leaving.signal);
    // Any number of checks would do.
    await expect.poll(() => vi.mocked(lstat).mock.calls.filter(([file]) => file === lock).length).toBeGreaterThan(2);
    leaving.abort();
    await expect(entering).rejects.toThrow(/abort/i);
    expect(await readFile(lock, 'utf8')).toBe(held);
  };

  test('is broken if its process has exited', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    const lock = await lockPath();
    await writeFile(lock, JSON.stringify({ id: 'x', pid: child.pid, processes: processesHere() }));
    expect(await enter()).toBe('entered');
  });

  test('is not broken because of its process id if the process may run in another container with the same host name', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    const lock = await lockPath();
    for (const processes of ['pid:[1] of another machine', undefined]) {
      await writeFile(lock, JSON.stringify({ id: 'x', pid: child.pid, host: hostname(), processes }));
      await expectRespected(lock);
    }
  });

  test.skipIf(process.platform === 'win32').each(['a pipe', 'a link to nothing'])(
    'is broken if it is %s',
    async (kind) => {
      const lock = await lockPath();
      if (kind === 'a pipe') execFileSync('mkfifo', [lock]);
      else await symlink('nothing', lock);
      expect(await enter()).toBe('entered');
    },
  );

  test('does not stay behind if the disk is full, and the error names it', async () => {
    const lock = await lockPath();
    const handle = await open(lock, 'wx');
    vi.mocked(open).mockImplementationOnce(() => {
      handle.writeFile = () =>
        Promise.reject(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }));
      return Promise.resolve(handle);
    });
    await expect(enter()).rejects.toThrow(`ENOSPC: no space left on device, write '${lock}'`);
    expect(await enter()).toBe('entered');
  });

  test('is broken if it gets no heartbeat during a wait of 30 seconds', async () => {
    const waited = withoutWaiting();
    const lock = await lockPath();
    await writeFile(lock, JSON.stringify({ id: 'x', pid: process.pid, processes: 'another machine' }));
    expect(await enter()).toBe('entered');
    expect(waited()).toBeGreaterThan(30_000);
    expect(waited()).toBeLessThan(60_000);
  });

  test('is not broken because of its age, because a clock may jump', async () => {
    const lock = await lockPath();
    for (const processes of [processesHere(), 'another machine']) {
      await writeFile(lock, JSON.stringify({ id: 'x', pid: process.pid, processes }));
      const old = new Date(Date.now() - 3_600_000);
      await utimes(lock, old, old);
      await expectRespected(lock);
    }
  });

  test('is broken if the process that was breaking it has exited', async () => {
    withoutWaiting();
    const lock = await lockPath();
    for (const file of [lock, `${lock}.break`]) await writeFile(file, '');
    expect(await enter()).toBe('entered');
    expect((await files()).filter((file) => file.includes('.lock'))).toEqual([]);
  });

  test('is respected while its holder is alive, on this machine or on another', async () => {
    const lock = await lockPath();
    for (const processes of [processesHere(), 'another machine']) {
      await writeFile(lock, JSON.stringify({ id: 'x', pid: process.pid, processes }));
      await expectRespected(lock);
    }
  });

  test('that is stale is broken by one of the waiters, and then they take turns', async () => {
    withoutWaiting();
    const lock = await lockPath();
    await writeFile(lock, '');
    let inside = 0;
    let most = 0;
    const section = async (): Promise<void> => {
      most = Math.max(most, (inside += 1));
      await new Promise((resolve) => void setImmediate(resolve));
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 8 }, () => new FileTokenStore(folder).locked(KEY, section)));
    expect(most).toBe(1);
  });
});
