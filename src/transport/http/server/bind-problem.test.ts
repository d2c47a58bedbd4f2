import { expect, test } from 'vitest';
import { bindProblem } from './bind-problem.ts';

test.each([
  ['linux', 'EACCES', 'port 80 on 127.0.0.1 needs more rights than this process has'],
  ['darwin', 'EACCES', 'port 80 on 127.0.0.1 needs more rights than this process has'],
  [
    'win32',
    'EACCES',
    'port 80 on 127.0.0.1 is reserved by Windows or another program; choose another port, or 0 for a free one',
  ],
  ['win32', 'EADDRINUSE', 'port 80 on 127.0.0.1 is already in use; choose another port, or 0 for a free one'],
] as const)('on %s, a port that cannot be used is an error that says why: %s', (platform, code, message) => {
  const cause = Object.assign(new Error(code), { code });
  expect(bindProblem(cause, '127.0.0.1', 80, platform)).toBe(message);
});
