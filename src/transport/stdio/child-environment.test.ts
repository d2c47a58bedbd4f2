import { expect, test } from 'vitest';
import { childEnvironment } from './child-environment.ts';

const own = { Path: 'C:\\Windows', APPDATA: 'C:\\Users\\ada', TOKEN: 'secret' };

test('on Windows, a variable is changed and removed whatever the case of its name', () => {
  const changes = { PATH: 'C:\\node', appdata: 'D:\\data', token: undefined };
  expect(childEnvironment(changes, own, 'win32')).toEqual(changes);
});

test('on Windows, of two names that differ only in case, the later one counts', () => {
  expect(childEnvironment({ TOKEN: undefined, Token: 'given' }, own, 'win32')).toEqual({
    Path: 'C:\\Windows',
    APPDATA: 'C:\\Users\\ada',
    Token: 'given',
  });
});

test('on other systems, names that differ in case are two variables', () => {
  expect(childEnvironment({ PATH: '/bin', TOKEN: undefined }, own, 'darwin')).toEqual({
    ...own,
    PATH: '/bin',
    TOKEN: undefined,
  });
});

test('without changes, it is the environment of this process', () => {
  expect(childEnvironment()).toEqual({ ...process.env });
});
