import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createFile } from '../../base/create-file.ts';
import { retryInUse } from '../../base/file-in-use.ts';
import { readRegularFile } from '../../base/regular-file.ts';

/** Milliseconds between two heartbeats. */
const HEARTBEAT = 5000;
/** Milliseconds between checks of a lock that is held: a random value between this and twice this. */
const POLL = 25;
/**
 * A lock is stale if this many checks in a row saw the same heartbeat: after 30 seconds or more. Its age is no measure:
 * clocks of machines differ, and a clock jumps when a laptop wakes up.
 */
const MAX_CHECKS = 30_000 / POLL;
/** The largest lock file that is read, in bytes. */
const MAX_FILE = 4096;

interface Holder {
  readonly id: string;
  readonly pid: number;
  /** The namespace of its process id, see `processesHere`. */
  readonly processes: string | undefined;
}

/**
 * Identifies the namespace in which this process id is unique: a machine or a container. Several containers may share
 * files and a host name. Undefined if it is not known.
 */
export function processesHere(): string | undefined {
  if (process.platform !== 'linux') return hostname();
  try {
    // The boot id differs for each boot. The PID namespace differs for each container.
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

/**
 * Acquires a lock between processes: a file that only one process can create. A lock is broken if it got no heartbeat
 * during a wait of 30 seconds, or if its process is known to have ended.
 *
 * @param path of the lock. Its folder must exist.
 * @returns a function that releases the lock.
 * @throws the signal's reason.
 */
export async function holdLock(path: string, signal?: AbortSignal): Promise<() => Promise<void>> {
  const holder: Holder = { id: randomUUID(), pid: process.pid, processes: processesHere() };
  const lock = new WatchedLock(path);
  const second = new WatchedLock(`${path}.break`);
  for (;;) {
    signal?.throwIfAborted();
    if (await create(path, holder)) break;
    if ((await lock.isStale()) && (await breakLock(lock, second, holder))) continue;
    await delay(POLL * (1 + Math.random()), undefined, { signal });
  }
  const alive = setInterval(() => {
    const now = new Date();
    // If the heartbeat fails, the lock becomes stale and another process may take it.
    utimes(path, now, now).catch(() => {});
  }, HEARTBEAT);
  alive.unref();
  return async () => {
    clearInterval(alive);
    if ((await read(path))?.id === holder.id) await remove(path);
  };
}

async function create(path: string, holder: Holder): Promise<boolean> {
  try {
    await createFile(path, JSON.stringify(holder));
    return true;
  } catch (error) {
    // Windows reports EPERM for a file that is being removed.
    if (['EEXIST', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST' || process.platform === 'win32') return false;
    }
    throw error;
  }
}

/**
 * Removes a stale lock. Several processes may find it stale, and a second removal would delete the new lock. So the
 * process first takes a second lock, and checks again that the first one is stale.
 *
 * @returns false if another process does this.
 */
async function breakLock(lock: WatchedLock, second: WatchedLock, holder: Holder): Promise<boolean> {
  if (await create(second.path, holder)) {
    try {
      if (await lock.isStale()) await remove(lock.path);
    } finally {
      await remove(second.path);
    }
    return true;
  }
  if (await second.isStale()) await remove(second.path);
  return false;
}

/** A lock of another process, and how long it has been without a heartbeat. */
class WatchedLock {
  readonly path: string;
  #heartbeat: number | undefined;
  #checks = 0;

  constructor(path: string) {
    this.path = path;
  }

  async isStale(): Promise<boolean> {
    const heartbeat = await heartbeatOf(this.path);
    this.#checks = heartbeat === this.#heartbeat ? this.#checks + 1 : 0;
    this.#heartbeat = heartbeat;
    if (heartbeat === undefined) return false;
    if (heartbeat === Infinity || this.#checks > MAX_CHECKS) return true;
    const holder = await read(this.path);
    if (holder?.processes === undefined || holder.processes !== processesHere()) return false;
    return !isAlive(holder.pid);
  }
}

/** The time of the last heartbeat; undefined if there is no lock, Infinity if it is not a regular file. */
async function heartbeatOf(path: string): Promise<number | undefined> {
  try {
    const lock = await lstat(path);
    return lock.isFile() ? lock.mtimeMs : Infinity;
  } catch {
    return undefined;
  }
}

/** Undefined if there is no lock, or if it is still being written. */
async function read(path: string): Promise<Holder | undefined> {
  try {
    const holder = JSON.parse(readRegularFile(path, MAX_FILE).toString()) as Partial<Holder> | null;
    return Number.isInteger(holder?.pid) ? (holder as Holder) : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function remove(path: string): Promise<void> {
  await retryInUse(() => unlink(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
