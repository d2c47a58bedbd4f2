import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from 'everwire/client';
import { startBridge } from '../support/bridge-program.ts';
import { startEverwire } from '../support/command-line.ts';
import { openRedis } from '../../src/store/redis/open-redis.ts';
import { programs, root } from '../support/process.ts';
import { findRedis, startRedis, type RedisServer } from '../support/redis-server.ts';

/** `--store` with the URL of a Redis server. */

const PASSWORD = 'a-secret-password';
const features = ['--', process.execPath, ...programs.features, '--stdio'];

test('an address that is no store is refused, and one that does not answer is named without its password', async () => {
  for (const [store, code, message] of [
    ['http://ann:a-secret-password@localhost/', 2, '--store must be a directory, or a URL such as redis://'],
    ['redis-sentinel://localhost:26379/main', 2, '--store must be a directory, or a URL such as redis://'],
    ['unix:/run/redis.sock', 2, '--store must be a directory, or a URL such as redis://'],
    ['redis://localhost/?db=3', 2, '--store: the URL of a Redis server must not have a query or a fragment'],
    ['env:NO_SUCH_STORE', 2, '--store needs the environment variable NO_SUCH_STORE, which is not set'],
    [`redis://ann:${PASSWORD}100%@127.0.0.1:1/3`, 2, '--store: write % as %25 in the user and the password of the URL'],
    [`redis://ann:${PASSWORD}@127.0.0.1:1/main`, 2, 'must end with the number of a database, such as /0'],
    [`redis://ann:${PASSWORD}@127.0.0.1:1/3`, 1, 'The store redis://127.0.0.1:1/3 cannot be reached: '],
  ] as const) {
    const child = startEverwire(['bridge', '--port', '0', '--store', store, ...features]);
    expect((await child.exited).code).toBe(code);
    const stderr = child.stderr.join('\n');
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(PASSWORD);
  }
});

const command = findRedis();
let redis: RedisServer;

describe.skipIf(command === undefined)('with a server', () => {
  beforeAll(async () => {
    redis = await startRedis(command!, '--requirepass', PASSWORD);
  });
  afterAll(() => redis.stop());

  async function administer(): Promise<(...words: string[]) => Promise<unknown>> {
    const admin = await openRedis(`redis://:${PASSWORD}@127.0.0.1:${redis.port}`, 5000);
    onTestFinished(() => admin.close());
    return (...words) => admin.sendCommand(words);
  }

  /** Makes a user of Redis, and returns the URL of a store with it. */
  async function userWith(name: string, ...rights: readonly string[]): Promise<string> {
    const admin = await administer();
    await admin('ACL', 'SETUSER', name, 'reset', 'on', `>${PASSWORD}`, ...rights);
    return `redis://${name}:${PASSWORD}@127.0.0.1:${redis.port}`;
  }

  test('a user of Redis who lacks something is refused at the start, with what is lacking', async () => {
    for (const [name, rights, why] of [
      ['scriptless', ['~*', '&*', '+@all', '-@scripting'], "the 'evalsha' command"],
      ['halfscript', ['~*', '&*', '+@all', '-eval'], "the 'eval' command"],
      ['streamless', ['~*', '&*', '+@all', '-@stream', '-mget'], 'may not run XREAD, MGET, XADD, XDEL, XLEN, '],
      ['reader', ['%R~*', '&*', '+@all'], 'NOPERM'],
      ['elsewhere', ['~other:*', '&*', '+@all'], 'NOPERM'],
    ] as const) {
      const url = await userWith(name, ...rights);
      const child = startEverwire([
        'bridge',
        '--port',
        '0',
        '--store',
        url,
        '--state-key',
        'x'.repeat(32),
        ...features,
      ]);
      await child.line(
        new RegExp(`The store redis://127\\.0\\.0\\.1:${redis.port} cannot be used with the keys {everwire}\\*: `),
        30_000,
      );
      expect((await child.exited).code).toBe(1);
      const stderr = child.stderr.join('\n');
      expect(stderr).toContain(why);
      expect(stderr).not.toContain(PASSWORD);
    }
  });

  test('the user of docs/cluster.md can do all that a bridge does', async () => {
    const page = readFileSync(`${root}docs/cluster.md`, 'utf8');
    const [, rights] = /^user everwire on >PASSWORD (.*)$/m.exec(page)!;
    const store = await userWith('documented', ...rights!.split(' '));
    const bridge = await startBridge(['--store', store, '--state-key', 'x'.repeat(32), ...features]);
    const client = await connect(bridge.url, { eras: 'legacy', onerror: () => {} });
    onTestFinished(() => client.close());
    expect((await client.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    expect(bridge.stderr.join('\n')).not.toContain('Redis');
  });

  test('a process with another state key says so, and goes on with a session when the one with its child has ended', async () => {
    const env = { STORE: `redis://:${PASSWORD}@127.0.0.1:${redis.port}/3` };
    const [first, second] = await Promise.all(
      ['a', 'b'].map((letter) => {
        const key = letter.repeat(32);
        return startBridge(['--store', 'env:STORE', '--state-key', key, '--drain-timeout', '1', ...features], env);
      }),
    );
    let headers = new Headers();
    const client = await connect(first!.url, {
      ...{ eras: 'legacy', onerror: () => {} },
      fetch: (url, init) => {
        if (typeof init?.body === 'string') headers = new Headers(init.headers);
        return fetch(url, init);
      },
    });
    onTestFinished(() => client.close().catch(() => {}));
    expect((await client.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    const params = { name: 'add', arguments: { a: 1, b: 2 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'other', method: 'tools/call', params });
    const call = () => fetch(second!.url, { method: 'POST', headers, body });
    const [refused, again] = [await call(), await call()];
    expect([refused.status, again.status]).toEqual([503, 503]);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    const why = 'Another process with the same Redis has another stateKey (--state-key), or none';
    expect(second!.stderr.join('\n').split(why)).toHaveLength(2);
    await first!.stop();
    await expect.poll(async () => (await call()).status, { timeout: 30_000 }).toBe(200);
  });

  test('if Redis is gone and comes back empty, known sessions go on, and the bridge says so', async () => {
    const env = { STORE: `redis://:${PASSWORD}@127.0.0.1:${redis.port}/1` };
    const bridge = await startBridge(['--store', 'env:STORE', '--metrics', ...features], env);
    const client = await connect(bridge.url, { eras: 'legacy', onerror: () => {} });
    onTestFinished(() => client.close().catch(() => {}));
    const sum = async (): Promise<unknown> => (await client.callTool('add', { a: 1, b: 2 })).structuredContent;
    const ready = async () => {
      const response = await bridge.get('/readyz');
      return [response.status, await response.json()];
    };
    const metrics = async () => (await bridge.get('/metrics')).text();
    expect(await sum()).toEqual({ result: 3 });
    expect(await ready()).toEqual([200, { status: 'ready' }]);
    expect(await metrics()).toContain('everwire_store_up 1');
    await redis.kill();
    await expect.poll(ready).toEqual([200, { status: 'ready', notes: { store: 'unreachable' } }]);
    expect(await metrics()).toContain('everwire_store_up 0');
    expect(await sum()).toEqual({ result: 3 });
    const unknown = await fetch(bridge.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'mcp-session-id': 'unknown' },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    expect([unknown.status, unknown.headers.get('retry-after')]).toEqual([503, '5']);
    const other = await connect(bridge.url, { eras: 'legacy', onerror: () => {} });
    expect((await other.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
    await other.close().catch(() => {});
    await bridge.line(
      new RegExp(`: The store redis://127\\.0\\.0\\.1:${redis.port}/1 cannot be reached: .*ECONNREFUSED`),
    );
    await redis.restart();
    await expect.poll(ready).toEqual([200, { status: 'ready' }]);
    expect(await sum()).toEqual({ result: 3 });
    expect(bridge.stderr.join('\n')).not.toContain(PASSWORD);
  });

  test('if Redis begins to refuse commands, /readyz has the reason in a few words, and only the log says which command', async () => {
    const user = ['ACL', 'SETUSER', 'limited', 'reset', 'on', `>${PASSWORD}`, '~*', '&*', '+@all'];
    const store = await userWith('limited', '~*', '&*', '+@all');
    const admin = await administer();
    onTestFinished(async () => void (await admin('CONFIG', 'SET', 'maxmemory', '0')));
    const options = ['--store', store, '--state-key', 'x'.repeat(32), '--metrics', ...features];
    const [first, second] = await Promise.all([startBridge(options), startBridge(options)]);
    let headers = new Headers();
    const client = await connect(first.url, {
      ...{ eras: 'legacy', onerror: () => {} },
      fetch: (url, init) => {
        if (typeof init?.body === 'string') headers = new Headers(init.headers);
        return fetch(url, init);
      },
    });
    onTestFinished(() => client.close().catch(() => {}));
    const sum = async (): Promise<unknown> => (await client.callTool('add', { a: 1, b: 2 })).structuredContent;
    const params = { name: 'add', arguments: { a: 1, b: 2 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'other', method: 'tools/call', params });
    const elsewhere = async () => {
      const response = await fetch(second.url, { method: 'POST', headers, body });
      return { status: response.status, text: await response.text() };
    };
    const ready = async () => {
      const response = await first.get('/readyz');
      return [response.status, await response.json()];
    };
    const metrics = async () => (await first.get('/metrics')).text();
    const isReady = async () => {
      await expect.poll(ready).toEqual([200, { status: 'ready' }]);
      await expect.poll(elsewhere).toMatchObject({ status: 200 });
      expect(await metrics()).toContain('everwire_store_up 1');
    };
    const refusing = async (reason: string) => {
      await expect.poll(ready).toEqual([200, { status: 'ready', notes: { store: reason } }]);
      expect(await metrics()).toContain('everwire_store_up 0');
      expect(await sum()).toEqual({ result: 3 });
      const { status, text } = await elsewhere();
      expect(status).toBe(503);
      expect(JSON.parse(text)).toMatchObject({ error: { data: { notExecuted: true } } });
      expect(text).toMatch(/cannot be reached: Redis refuses commands; try again later/);
    };
    await isReady();
    await admin('CONFIG', 'SET', 'maxmemory', '1');
    await refusing('out of memory');
    await admin('CONFIG', 'SET', 'maxmemory', '0');
    await isReady();
    await admin(...user, '-set', '-evalsha');
    await refusing('no permission');
    await admin(...user);
    await isReady();
    for (const { stderr } of [first, second]) {
      expect(stderr.join('\n')).toContain('Redis has refused a command: ');
      expect(stderr.join('\n')).not.toContain(PASSWORD);
    }
  });

  test('while Redis is frozen, known sessions go on, and requests end', async () => {
    const bridge = await startBridge(['--store', 'env:STORE', ...features], {
      STORE: `redis://:${PASSWORD}@127.0.0.1:${redis.port}/2`,
    });
    const client = await connect(bridge.url, { eras: 'legacy', onerror: () => {} });
    onTestFinished(() => client.close().catch(() => {}));
    const sum = async (): Promise<unknown> => (await client.callTool('add', { a: 1, b: 2 })).structuredContent;
    expect(await sum()).toEqual({ result: 3 });
    redis.freeze();
    onTestFinished(() => redis.thaw());
    expect(await sum()).toEqual({ result: 3 });
    const other = await connect(bridge.url, { eras: 'legacy', onerror: () => {} });
    onTestFinished(() => other.close().catch(() => {}));
    redis.thaw();
    expect((await other.callTool('add', { a: 1, b: 2 })).structuredContent).toEqual({ result: 3 });
  });
});
