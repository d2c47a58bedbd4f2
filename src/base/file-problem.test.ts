import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileProblem } from './file-problem.ts';

const problemOf = (use: () => unknown): string => {
  try {
    use();
    return 'none';
  } catch (error) {
    return fileProblem(error);
  }
};

test('the problem of a file is said in words, without its path', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-problem-'));
  const file = path.join(folder, 'file');
  writeFileSync(file, '');
  expect(problemOf(() => readFileSync(path.join(folder, 'none')))).toBe('there is no such file or folder');
  expect(problemOf(() => readFileSync(path.join(file, 'below')))).toBe('there is no such file or folder');
  expect(problemOf(() => readFileSync(folder))).toBe('it is a directory');
  expect(fileProblem(new Error('it is larger than 5 bytes'))).toBe('it is larger than 5 bytes');
  rmSync(folder, { recursive: true });
});

test('a file is not said to belong to another user, because systems refuse access for many reasons', () => {
  const refused = Object.assign(new Error("EPERM: operation not permitted, open '/x'"), { code: 'EPERM' });
  expect(fileProblem(refused)).toBe('the system does not permit it');
});
