import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { bearer, client, startBridge } from './support/bridge-program.ts';
import { temporaryFolder } from './support/command-line.ts';
import { programs, root } from './support/process.ts';
import { findRedis, startRedis, type RedisServer } from './support/redis-server.ts';
import { filesShownIn } from './support/shown.ts';

/** There is no Docker here. So these tests run what the containers would run. */

const TOKEN = 'a-token-0123456789';
const contentOf = (file: string): unknown =>
  parse(readFileSync(`${root}examples/cluster/${file}`, 'utf8'), { merge: true });

interface Compose {
  readonly services: Record<string, { readonly command: string; readonly stop_grace_period: string }>;
}
interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly { readonly args: readonly string[] }[];
      };
    };
  };
}

const { services } = contentOf('compose.yaml') as Compose;
const pod = (contentOf('kubernetes.yaml') as Deployment).spec.template.spec;

describe('docs/cluster.md', () => {
  const files = filesShownIn('docs/cluster.md');

  test('shows every file of the example', () => {
    const here = readdirSync(`${root}examples/cluster`).map((name) => `examples/cluster/${name}`);
    expect(new Set(files.map(({ file }) => file))).toEqual(new Set(here));
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });

  test('gives containers time to stop', () => {
    expect(Number.parseInt(services['bridge-1']!.stop_grace_period, 10)).toBeGreaterThanOrEqual(10 + 10);
    const drain = Number(/--drain-timeout=(\d+)/.exec(pod.containers[0]!.args.join(' '))![1]);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(5 + drain + 10);
  });
});

const command = findRedis();

describe.skipIf(command === undefined)('the bridges of docs/cluster.md', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis(command!);
  });
  afterAll(() => redis.stop());

  test.each([
    ['Compose', ['bridge-1', 'bridge-2'].map((name) => services[name]!.command.split(' '))],
    ['Kubernetes', [pod.containers[0]!.args, pod.containers[0]!.args]],
  ])('serve one client at any process, with %s', async (_, commands) => {
    const folder = temporaryFolder();
    const write = (name: string, text: string): string => {
      const file = path.join(folder, name);
      writeFileSync(file, text);
      return file;
    };
    const demo = { command: process.execPath, args: [...programs.everwire, 'demo', '--stdio'] };
    const replaced = {
      '/etc/everwire/mcp.json': write('mcp.json', JSON.stringify({ mcpServers: { demo } })),
      '/run/secrets/tokens': write('tokens', `${TOKEN}\n`),
      '/run/secrets/everwire/tokens': write('tokens', `${TOKEN}\n`),
      '/run/secrets/state-key': write('state-key', 'a-state-key-of-32-bytes-or-more-0\n'),
      '/run/secrets/everwire/state-key': write('state-key', 'a-state-key-of-32-bytes-or-more-0\n'),
      'redis://redis:6379/0': redis.url,
    };
    const start = async (words: readonly string[]): Promise<string> => {
      expect(words[0]).toBe('bridge');
      const args = words.slice(1).map((word) => {
        const found = Object.entries(replaced).find(([shown]) => word.endsWith(shown));
        return found ? word.slice(0, -found[0].length) + found[1] : word;
      });
      const bridge = await startBridge(args, { REDIS_URL: redis.url });
      onTestFinished(async () => void (await bridge.stop()));
      const local = new URL(bridge.url);
      local.hostname = '127.0.0.1';
      expect((await fetch(new URL('/readyz', local))).status).toBe(200);
      return local.href;
    };
    const [first, second] = await Promise.all(commands.map(start));
    let sent = 0;
    const { headers } = bearer(TOKEN);
    const roundRobin: typeof fetch = (_url, init) => fetch((sent++ % 2 === 0 ? first : second)!, init);
    const caller = await client(first!, { headers, fetch: roundRobin, eras: 'legacy' });
    for (let call = 0; call < 4; call++)
      expect(await caller.callTool('add', { a: 1, b: call })).toHaveProperty('content.0.type', 'text');
    expect(sent).toBeGreaterThan(4);
  });
});
