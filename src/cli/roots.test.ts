import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { rootsOf } from './roots.ts';

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'everwire-roots-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

test('a directory becomes a file URL, whatever the working directory', () => {
  const cwd = folder();
  mkdirSync(path.join(cwd, 'my work #1'));
  const [root, here] = rootsOf(['my work #1', '.'], cwd);
  expect(root!.name).toBe('my work #1');
  expect(root!.uri).toMatch(/^file:\/\/\/.*my%20work%20%231$/);
  expect(fileURLToPath(root!.uri)).toBe(path.join(cwd, 'my work #1'));
  expect(fileURLToPath(here!.uri)).toBe(cwd);
  expect(rootsOf([path.parse(cwd).root], cwd)[0]!.name).not.toBe('');
});

test.each(['nothing', 'file', 'file/within'])('a path that is not a directory is in the error: %s', (name) => {
  const cwd = folder();
  writeFileSync(path.join(cwd, 'file'), '');
  expect(() => rootsOf([name], cwd)).toThrow(`--root "${name}" is not a directory`);
});
