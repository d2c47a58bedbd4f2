import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { programs, root } from '../../test/support/process.ts';
import { filesShownIn } from '../../test/support/shown.ts';

const page = readFileSync(`${root}docs/guides/testing.md`, 'utf8');
const built = `${root}dist/examples/testing`;

describe('the testing guide', () => {
  const files = filesShownIn('docs/guides/testing.md');

  test('shows every file here, once', () => {
    const here = readdirSync(new URL('.', import.meta.url)).filter((name) => name !== 'guide.test.ts');
    expect(files.map(({ file }) => file).toSorted()).toEqual(here.map((name) => `examples/testing/${name}`).toSorted());
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

test('the test for node:test passes', () => {
  const output = execFileSync(process.execPath, ['--test', '--test-reporter=tap', `${built}/with-node.js`], {
    encoding: 'utf8',
    // Otherwise the test runner would report to the one that runs this test.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  expect(output).toMatch(/^# pass 1$/m);
});

test.skipIf(process.platform === 'win32')('the commands print what the guide shows', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-guide-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(built, path.join(folder, 'dist'));
  mkdirSync(path.join(folder, 'bin'));
  const command = [process.execPath, ...programs.everwire].map((word) => `'${word}'`).join(' ');
  writeFileSync(path.join(folder, 'bin/npx'), `#!/bin/sh\nshift\nexec ${command} "$@"\n`, { mode: 0o755 });
  const [, block] = /^```console\n([\s\S]*?)^```/m.exec(page)!;
  const examples = block!.split(/^\$ /m).slice(1);
  expect(examples).toHaveLength(3);
  for (const example of examples) {
    const end = example.indexOf('\n');
    const { stdout, stderr } = spawnSync('sh', ['-c', example.slice(0, end)], {
      cwd: folder,
      env: { ...process.env, PATH: `${path.join(folder, 'bin')}:${process.env['PATH']}` },
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(stdout + stderr).toBe(example.slice(end + 1));
  }
});
