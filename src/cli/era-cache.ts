import { hash } from 'node:crypto';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../base/make-folder.ts';
import { readRegularFile } from '../base/regular-file.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { CachedEra, Era, EraCache, UpstreamRoute } from '../wire/era-cache.ts';

/** Lifetime of an entry, in milliseconds. Without it, an upgrade of a server would never be detected. */
const MAX_AGE = 7 * 24 * 3_600_000;

/** The largest file that is read, in bytes. */
const MAX_FILE = 1024;

const ERAS: ReadonlySet<unknown> = new Set<Era>(['legacy', 'modern']);
const ROUTES: ReadonlySet<unknown> = new Set<UpstreamRoute>(['connection', 'streamable-http', 'http+sse']);

/**
 * An era cache in a folder, for later runs, with one small file for each server. Neither the name nor the content of a
 * file shows which server it is about. An entry is only a hint: a damaged file is ignored, and nothing is written if
 * the folder is not writable.
 *
 * @param scope separates servers that have the same key: the directory in which a command is started.
 */
export function fileEraCache(folder: string, scope = ''): EraCache {
  // URLs and command lines may contain secrets.
  const fileOf = (key: string): string => path.join(folder, hash('sha256', JSON.stringify([scope, key])).slice(0, 32));
  return {
    get: async (key) => {
      try {
        const file = fileOf(key);
        const entry: unknown = (await isOld(file)) ? undefined : JSON.parse(readRegularFile(file, MAX_FILE).toString());
        return isEntry(entry) ? { era: entry.era, route: entry.route } : undefined;
      } catch {
        return undefined;
      }
    },
    set: async (key, { era, route }) => {
      try {
        await makeFolder(folder);
        // If there is a pipe instead of the file, writing into it would block.
        await rm(fileOf(key), { force: true });
        await writeFile(fileOf(key), JSON.stringify({ era, route }), { flag: 'wx', mode: 0o600 });
        for (const name of await readdir(folder)) {
          const file = path.join(folder, name);
          if (await isOld(file)) await rm(file, { force: true });
        }
      } catch {
        // The next run probes again. A home folder that is not writable is not worth an error in each run.
      }
    },
  };
}

async function isOld(file: string): Promise<boolean> {
  const age = Date.now() - (await stat(file)).mtimeMs;
  return Math.abs(age) >= MAX_AGE;
}

function isEntry(value: unknown): value is CachedEra {
  return isObject(value) && ERAS.has(value['era']) && ROUTES.has(value['route']);
}
