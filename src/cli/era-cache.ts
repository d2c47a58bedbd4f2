import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { holdLock } from '../auth/client/lock-file.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { CachedEra, Era, EraCache, UpstreamRoute } from '../wire/era-cache.ts';

/** The number of servers in the cache. The entry that was set first is removed first. */
const MAX_SERVERS = 1000;
/** Lifetime of an entry, in milliseconds. After that, a server that also speaks another era by now is detected. */
const MAX_AGE = 7 * 24 * 3_600_000;
/** The largest file that is read, in bytes: several times the size of a full cache. */
const MAX_BYTES = 1024 * 1024;
/** How long to wait for another process that writes, in milliseconds. After that, this process does not write. */
const LOCK_TIMEOUT = 1000;

const ERAS: ReadonlySet<unknown> = new Set<Era>(['legacy', 'modern']);
const ROUTES: ReadonlySet<unknown> = new Set<UpstreamRoute>(['connection', 'streamable-http', 'http+sse']);

interface Entry extends CachedEra {
  /** When it was set, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * An era cache in a file, for the next run. Several processes may share it: only one writes at a time, and it replaces
 * the whole file. The file does not show which servers it is about. An entry is only a hint: a file that is damaged or
 * larger than 1 MiB counts as empty, and a file that cannot be written is left alone.
 *
 * @param scope separates servers that have the same key: the directory in which a command is started.
 */
export function fileEraCache(file: string, scope = ''): EraCache {
  return {
    get: async (key) => {
      const entry = (await read(file)).get(digest(scope, key));
      return entry && { era: entry.era, route: entry.route };
    },
    set: async (key, { era, route }) => {
      try {
        await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
        const release = await holdLock(`${file}.lock`, AbortSignal.timeout(LOCK_TIMEOUT));
        try {
          const entries = await read(file);
          const name = digest(scope, key);
          entries.delete(name);
          entries.set(name, { era, route, at: Date.now() });
          await replace(file, entries);
        } finally {
          await release();
        }
      } catch {
        // The next run probes again. A home folder that cannot be written is not worth an error on each run.
      }
    },
  };
}

/** Hashes the key: URLs and command lines may contain secrets. */
function digest(scope: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([scope, key]))
    .digest('hex')
    .slice(0, 32);
}

/** The valid entries of a file, in the order in which they were set. */
async function read(file: string): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  let value: unknown;
  try {
    const text = await readFile(file);
    if (text.length > MAX_BYTES) return entries;
    value = JSON.parse(text.toString());
  } catch {
    return entries;
  }
  if (!isObject(value)) return entries;
  const now = Date.now();
  for (const [name, entry] of Object.entries(value)) {
    if (isEntry(entry) && entry.at <= now && now - entry.at < MAX_AGE) entries.set(name, entry);
  }
  return entries;
}

function isEntry(value: unknown): value is Entry {
  return isObject(value) && ERAS.has(value['era']) && ROUTES.has(value['route']) && typeof value['at'] === 'number';
}

async function replace(file: string, entries: ReadonlyMap<string, Entry>): Promise<void> {
  const fresh = `${file}.${randomUUID()}.new`;
  const newest = Object.fromEntries([...entries].slice(-MAX_SERVERS));
  try {
    const handle = await open(fresh, 'wx', 0o600);
    try {
      await handle.writeFile(JSON.stringify(newest));
    } finally {
      await handle.close();
    }
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
