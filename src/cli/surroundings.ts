import { homedir } from 'node:os';

/** Where to look for files, and where variables get their values. */
export interface Surroundings {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

export function surroundings(): Surroundings {
  return { cwd: process.cwd(), home: homedir(), env: process.env, platform: process.platform };
}
