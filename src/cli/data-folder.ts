import path from 'node:path';
import { surroundings, type Surroundings } from './mcp-json.ts';

/** Where tokens are kept, and what is known of servers: beside what other programs keep for the person. */
export function dataFolder({ env, home, platform }: Surroundings = surroundings()): string {
  const local = path.join(home, ...(platform === 'win32' ? ['AppData', 'Local'] : ['.local', 'share']));
  const data = platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_DATA_HOME'];
  return path.join(data || local, 'everwire');
}
