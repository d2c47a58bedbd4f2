import { expect, test } from 'vitest';
import { demo, runEverwire, temporaryFolder } from '../support/command-line.ts';

/** `--workers` that cannot be. With Redis, see `test/life/workers.test.ts`. */

const REDIS = ['--store', 'redis://127.0.0.1:1'];

test.each([
  [['--stdio'], '--workers cannot be used with --stdio, which needs one process'],
  [['--record', 'x.mcpcap', ...REDIS], '--workers cannot be used with --record, which needs one process'],
  [['--inspect', ...REDIS], '--workers cannot be used with --inspect, which needs one process'],
  [['--shared', ...REDIS], '--workers cannot be used with --shared, which needs one process'],
  [['--pool', '2', ...REDIS], '--workers cannot be used with --pool, which needs one process'],
  [[], '--workers needs a store that several processes can use: add --store redis://…'],
  [['--store', 'data'], '--workers needs a store that several processes can use: add --store redis://…'],
  [['--store', 'http://localhost/'], '--workers needs a store that several processes can use: add --store redis://…'],
])('a bridge with several workers and %j is a usage error', async (options, message) => {
  const outcome = await runEverwire(['bridge', '--workers', '2', ...options, ...demo]);
  expect(outcome).toEqual({ code: 2, stdout: '', stderr: `everwire: ${message}` });
});

test.each([['0'], ['129'], ['many'], ['1.5'], ['-1']])('%s workers are a usage error', async (count) => {
  const { code, stderr } = await runEverwire(['demo', `--workers=${count}`, ...REDIS]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    `everwire: option '--workers <number>' argument '${count}' is invalid. It must be a number from 1 to 128.`,
  );
});

test('a wrong option is reported once', async () => {
  for (const [options, message] of [
    [['--state-key', 'short'], '--state-key is too short: it must have at least 8 characters'],
    [['--store', 'env:NO_SUCH_STORE'], '--store needs the environment variable NO_SUCH_STORE, which is not set'],
  ] as const) {
    const outcome = await runEverwire(['demo', '--port', '0', '--workers', '2', ...REDIS, ...options]);
    expect(outcome).toEqual({ code: 2, stdout: '', stderr: `everwire: ${message}` });
  }
});

test('what only a worker finds out is reported once, with its exit code', async () => {
  const unreachable = await runEverwire(['demo', '--port', '0', '--workers', '4', ...REDIS]);
  expect(unreachable).toMatchObject({ code: 1, stdout: '' });
  expect(unreachable.stderr).toMatch(/^everwire: The store redis:\/\/127\.0\.0\.1:1 cannot be reached: .*$/);
  const file = `${temporaryFolder()}/missing.json`;
  const missing = await runEverwire(['bridge', '--port', '0', '--workers', '4', ...REDIS, '--config', file]);
  expect(missing.code).not.toBe(0);
  expect(missing.stderr.split('\n').filter((line) => line.startsWith('everwire: '))).toHaveLength(1);
});
