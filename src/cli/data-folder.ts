import path from 'node:path';
import { surroundings, type Surroundings } from './surroundings.ts';

/** The folder for tokens and the era cache: the user's usual data folder. */
export function dataFolder({ env, home, platform }: Surroundings = surroundings()): string {
  const local = path.join(home, ...(platform === 'win32' ? ['AppData', 'Local'] : ['.local', 'share']));
  const data = platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_DATA_HOME'];
  return path.join(data || local, 'everwire');
}
