import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { holdLock } from '../auth/client/lock-file.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { CachedEra, Era, EraCache, UpstreamRoute } from '../wire/era-cache.ts';

/** This many servers are remembered; who was set the longest ago is forgotten first. */
const MAX_SERVERS = 1000;
/** For so long (milliseconds): a server that has got another era beside its old one is then found to have it. */
const MAX_AGE = 7 * 24 * 3_600_000;
/** What is read, in bytes: several times what so many servers take. */
const MAX_BYTES = 1024 * 1024;
/** How long another process may write, in milliseconds, before this one leaves it at that. */
const LOCK_TIMEOUT = 1000;

const ERAS: ReadonlySet<unknown> = new Set<Era>(['legacy', 'modern']);
const ROUTES: ReadonlySet<unknown> = new Set<UpstreamRoute>(['connection', 'streamable-http', 'http+sse']);

interface Entry extends CachedEra {
  /** When it was set, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * An era cache in a file, for the next run. Several processes may share it: one writes at a time, and a file is replaced whole.
 * Who the servers are does not stand in it. An entry is a hint: a file that is damaged or larger than 1 MiB counts as empty,
 * and one that cannot be written is left alone.
 *
 * @param scope tells servers apart that have the same key: the directory in which a command is started.
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
        // The next run finds out again. A home that cannot be written to is nothing to report each time.
      }
    },
  };
}

/** Addresses and command lines may hold secrets. */
function digest(scope: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([scope, key]))
    .digest('hex')
    .slice(0, 32);
}

/** What is in a file and good, in the order in which it was set. */
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
