import { expect, test } from 'vitest';
import { dataFolder } from './data-folder.ts';

test.each([
  ['linux', {}, /^\/home\/ada\/\.local\/share\/everwire$/],
  ['linux', { XDG_DATA_HOME: '/data' }, /^\/data\/everwire$/],
  ['linux', { XDG_DATA_HOME: '' }, /^\/home\/ada\/\.local\/share\/everwire$/],
  ['darwin', {}, /^\/home\/ada\/\.local\/share\/everwire$/],
  ['win32', { LOCALAPPDATA: '/Local' }, /^\/Local\/everwire$/],
  ['win32', {}, /^\/home\/ada\/AppData\/Local\/everwire$/],
] as const)('the data folder is where programs on %s keep user data: %j', (platform, env, folder) => {
  expect(dataFolder({ platform, env, home: '/home/ada', cwd: '/' }).replaceAll('\\', '/')).toMatch(folder);
});
