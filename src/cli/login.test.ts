import { expect, test } from 'vitest';
import { tokenFolder } from './login.ts';

test.each([
  ['linux', {}, /^\/home\/ada\/\.local\/share\/everwire\/tokens$/],
  ['linux', { XDG_DATA_HOME: '/data' }, /^\/data\/everwire\/tokens$/],
  ['linux', { XDG_DATA_HOME: '' }, /^\/home\/ada\/\.local\/share\/everwire\/tokens$/],
  ['darwin', {}, /^\/home\/ada\/\.local\/share\/everwire\/tokens$/],
  ['win32', { LOCALAPPDATA: '/Local' }, /^\/Local\/everwire\/tokens$/],
  ['win32', {}, /^\/home\/ada\/AppData\/Local\/everwire\/tokens$/],
] as const)("tokens are kept where programs of %s keep what is the person's own: %j", (platform, env, folder) => {
  expect(tokenFolder({ platform, env, home: '/home/ada', cwd: '/' }).replaceAll('\\', '/')).toMatch(folder);
});
