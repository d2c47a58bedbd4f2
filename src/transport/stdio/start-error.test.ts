import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { whyNotStarted } from './start-error.ts';

const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`spawn ${code}`), { code });

test.each([
  ['linux', 'it is not executable: run chmod +x, or start it with its interpreter, such as node'],
  ['darwin', 'it is not executable: run chmod +x, or start it with its interpreter, such as node'],
  ['win32', 'access was denied: name a program, or start a script with its interpreter, such as node'],
] as const)('on %s, a file that is no program is an error that says what to do', (platform, why) => {
  expect(whyNotStarted(failure('EACCES'), './server.js', undefined, platform)).toBe(why);
});

test.each([
  ['npx', 'command not found in any folder of PATH'],
  ['C:\\tools\\server.exe', 'there is no such file'],
  ['./server', 'there is no such file'],
])('a missing command is an error that says where it was looked for: %s', (command, why) => {
  expect(whyNotStarted(failure('ENOENT'), command)).toBe(why);
  expect(whyNotStarted(failure('ENOENT'), command, '/no/such/folder')).toBe('there is no directory /no/such/folder');
});

test.each([
  ['node', [], { env: { KEY: 's3cret\0' } }],
  ['node', ['--token=s3cret\0'], {}],
  ['node', [], { cwd: '/s3cret\0' }],
  ['s3cret\0', [], {}],
])('a null character is an error that does not contain the value: %j, %j, %j', (command, args, options) => {
  let error: unknown;
  try {
    spawn(command, args, options);
  } catch (thrown) {
    error = thrown;
  }
  expect(whyNotStarted(error as NodeJS.ErrnoException, command)).toBe(
    'its name, an argument, a variable or the directory contains a null character',
  );
});
