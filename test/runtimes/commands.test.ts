import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { readRecording } from '../../src/inspect/read-recording.ts';
import type { WireRecord } from '../../src/inspect/record.ts';
import { v1Http, v2Http } from '../interop/client/official-servers.ts';
import { bytesOf } from '../support/captured.ts';
import { node, temporaryFolder, type Outcome } from '../support/command-line.ts';
import { PageClient } from '../support/inspector.ts';
import { listening, programs, root, startProgram, type RunningProcess } from '../support/process.ts';
import { throughSuite } from '../support/through-suite.ts';
import { runtimes } from './runtime.ts';

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string };
const everything = ['--', node, ...programs.everything];

let checkedOnNode: Promise<Outcome> | undefined;

/** `everwire` on another runtime, with official servers and clients on Node. */
describe.each(runtimes)('everwire on $name', ({ name, command }) => {
  const start = ([program = '', ...args]: readonly string[], words: readonly string[]): RunningProcess => {
    const child = startProgram(program, [...args, ...programs.everwire, ...words]);
    onTestFinished(async () => void (await child.stop()));
    return child;
  };
  const run = async (runtime: readonly string[], words: readonly string[]): Promise<Outcome> => {
    const child = start(runtime, words);
    child.child.stdin!.end();
    const { code } = await child.exited;
    return { code, stdout: child.stdout.join('\n'), stderr: child.stderr.join('\n') };
  };
  /** Runs a command here and on Node. */
  const same = async (words: readonly string[]): Promise<Outcome> => {
    const here = await run(command!, words);
    expect(here).toEqual(await run([node], words));
    return here;
  };

  describe.skipIf(command === undefined)('', () => {
    test('says its version', async () => {
      expect(await run(command!, ['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
    });

    test.each([[['--help']], [['bridge', '--help']], [['completion', 'bash']]])(
      'prints what Node prints: %s',
      async (words) => {
        expect(await same(words)).toMatchObject({ code: 0, stderr: '' });
      },
    );

    test('refuses wrong words as on Node', async () => {
      expect((await same(['list'])).code).toBe(2);
      expect((await same(['list', 'http://127.0.0.1:1/mcp', '--no-such-option'])).code).toBe(2);
    });

    test('refuses several workers, and says what to do', async () => {
      expect(await run(command!, ['demo', '--workers', '2', '--store', 'redis://127.0.0.1:1'])).toEqual({
        ...{ code: 2, stdout: '' },
        stderr: 'everwire: --workers needs Node: on Bun and Deno, start one process for each port',
      });
    });

    describe('with the official server over stdio', () => {
      test.each([
        [['list']],
        [['list', 'tools', '--json']],
        [['call', 'echo', 'message=hello']],
        [['call', 'get-sum', 'a=2', 'b=3', '--json']],
        [['read', 'demo://resource/static/document/architecture.md']],
        [['prompt', 'simple-prompt']],
        [['discover', '--json']],
      ])('%s', async ([verb, ...rest]) => {
        expect((await same([verb!, ...rest, ...everything])).code).toBe(0);
      });

      test('call: a tool that does not exist', async () => {
        expect((await same(['call', 'no-such-tool', ...everything])).code).not.toBe(0);
      });

      test('ping', async () => {
        const { code, stdout } = await run(command!, ['ping', ...everything]);
        expect([code, stdout]).toEqual([0, expect.stringMatching(/^answered in /)]);
      });
    });

    describe.each([
      ['1.x', v1Http],
      ['2.x', () => v2Http('reject')],
    ] as const)('with the official server %s over HTTP', (_version, startServer) => {
      let server: Awaited<ReturnType<typeof v1Http>>;

      beforeAll(async () => {
        server = await startServer();
      });

      afterAll(() => server.stop());

      test('list, call', async () => {
        const url = server.target as string;
        expect((await same(['list', url, '--json'])).code).toBe(0);
        expect((await same(['call', url, 'add', 'a=2', 'b=3'])).code).toBe(0);
      });
    });

    test('check finds the same as on Node', async () => {
      const words = ['check', '--', node, ...programs.everwire, 'demo', '--stdio'];
      checkedOnNode ??= run([node], words);
      expect(await run(command!, words)).toEqual(await checkedOnNode);
      expect((await checkedOnNode).code).toBe(0);
    });

    test('demo serves over stdio and HTTP', async () => {
      const [program = '', ...args] = command!;
      const { url } = await listening(start(command!, ['demo', '--port', '0']));
      for (const target of [url, { command: program, args: [...args, ...programs.everwire, 'demo', '--stdio'] }]) {
        const client = await connect(target);
        try {
          expect((await client.callTool('add', { a: 2, b: 3 })).content).toEqual([{ type: 'text', text: '5' }]);
        } finally {
          await client.close();
        }
      }
    });

    test.each(['stdio', 'http'])('a recording has every byte of both directions: %s', async (way) => {
      const file = path.join(temporaryFolder(), 'recording');
      const server = way === 'http' ? await v1Http() : undefined;
      if (server) onTestFinished(async () => void (await server.stop()));
      const tool = server ? [server.target as string, 'add', 'a=2', 'b=3'] : ['echo', 'message=hällo', ...everything];
      expect((await run(command!, ['call', '--record', file, ...tool])).code).toBe(0);
      const records = await recorded(file);
      expect(bytesOf(records, 'c>s').toString()).toContain(server ? 'POST /mcp HTTP/1.1' : '"message":"hällo"');
      const counts = async (runtime: readonly string[]): Promise<string> =>
        (await run(runtime, ['check', '--format', 'json', file])).stdout;
      expect(await counts(command!)).toBe(await counts([node]));
    });

    test('inspect serves its page, and connects', async () => {
      const child = start(command!, ['inspect', ...everything]);
      const [, address] = await child.line(/inspector on (\S+)$/);
      const page = await PageClient.open(address!);
      expect(await page.until(({ connection }) => connection.status !== 'connecting')).toMatchObject({
        connection: { status: 'connected' },
      });
    });

    describe.skipIf(process.platform === 'win32')('inspect --through', () => {
      // Bun and Deno keep copies of the descriptors, which cannot be closed. A write to stdout blocks Deno.
      throughSuite(command, false, name !== 'Deno');

      test('records the bytes as they passed', async () => {
        const file = path.join(temporaryFolder(), 'recording');
        const child = start(command!, [
          'inspect',
          '--record',
          file,
          '--through',
          '--',
          node,
          '-e',
          'process.stdin.pipe(process.stdout)',
        ]);
        const sent = '{"jsonrpc":"2.0","id":1,"method":"ping"}\r\nstray \u{1F600}\n'.repeat(10_000);
        child.child.stdin!.end(sent);
        expect(await child.exited).toEqual({ code: 0, signal: null });
        const records = await recorded(file);
        for (const dir of ['c>s', 's>c'] as const) expect(bytesOf(records, dir).toString()).toBe(sent);
      });
    });
  });

  async function recorded(file: string): Promise<WireRecord[]> {
    const records: WireRecord[] = [];
    for await (const record of await readRecording(file)) records.push(record);
    return records;
  }
});
