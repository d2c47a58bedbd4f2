import { describe, expect, test } from 'vitest';
import { bytesOf } from '../support/captured.ts';
import { node, runEverwire } from '../support/command-line.ts';
import { startInspector } from '../support/inspector.ts';
import { throughSuite } from '../support/through-suite.ts';
import type { WireRecord } from '../../src/inspect/record.ts';

const through = ['inspect', '--through', '--'];

describe.skipIf(process.platform === 'win32')('everwire inspect --through', () => {
  throughSuite();

  test('shows the bytes as they passed, and takes no commands', async () => {
    const { page, child } = await startInspector([...through, node, '-e', 'process.stdin.pipe(process.stdout)']);
    expect(await page.until(() => true)).toMatchObject({
      role: 'observer',
      target: expect.stringContaining('process.stdin.pipe') as string,
    });
    await expect(page.command('connect', { url: 'http://localhost/' })).rejects.toThrow('409');
    const recording = await page.records();
    const sent = '{"jsonrpc":"2.0","id":1,"method":"ping"}\r\nstray \u{1F600}\n';
    child.child.stdin!.write(sent);
    const records: WireRecord[] = [];
    for await (const record of recording) {
      records.push(record);
      if (record.layer === 'line' && record.dir === 's>c' && record.range[1] === Buffer.byteLength(sent)) break;
    }
    for (const dir of ['c>s', 's>c'] as const) expect(bytesOf(records, dir).toString()).toBe(sent);
    child.child.stdin!.end();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test('says what is wrong before anything is started', async () => {
    expect(await runEverwire(['inspect', '--through', 'http://localhost/'])).toMatchObject({
      code: 2,
      stderr: 'everwire: --through needs -- and a command',
    });
    const { code, stderr } = await runEverwire([...through, 'no-such-program']);
    expect([code, stderr.split('\n').at(-1)]).toEqual([
      3,
      'everwire: cannot start no-such-program: command not found in any folder of PATH',
    ]);
  });
});
