import { spawn, spawnSync } from 'node:child_process';
import { windowsProgram } from '../../base/windows-program.ts';
import { listProcesses } from './process-tree.ts';

const WINDOWS = process.platform === 'win32';
/**
 * How often to check whether processes of a group are left, because nothing reports the end of a grandchild.
 * Milliseconds. Most grandchildren end at once. The delay doubles after each check, because a check reads all of /proc.
 */
const FIRST_POLL = 10;
const LAST_POLL = 500;
/** How long to wait for killed processes after SIGKILL. Milliseconds. */
const LAST_WAIT = 1000;

const live = new Set<number>();

/** Kills all child processes with their descendants, at once: at the end of this process no asynchronous code runs. */
export function killGroups(): void {
  for (const pid of live) {
    if (WINDOWS) spawnSync(windowsProgram('taskkill'), ['/pid', String(pid), '/T', '/F'], { windowsHide: true });
    else send(pid, 'SIGKILL');
  }
}

/**
 * A child process and its descendants. On POSIX this is a process group led by the child; a process that has left the
 * group (a daemon with its own session) is not found. On Windows it is the process tree.
 *
 * Unless `forget` is called, the group ends with this process at the latest.
 */
export class ProcessGroup {
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
    if (live.size === 0) process.on('exit', killGroups);
    live.add(pid);
  }

  /** SIGTERM asks every process of the group to end. SIGKILL ends it. Windows only has the latter. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (!WINDOWS) return void send(this.pid, signal);
    // If `taskkill` cannot be started, the process does not exit in time, and the caller reports that.
    spawn(windowsProgram('taskkill'), ['/pid', String(this.pid), '/T', '/F'], {
      stdio: 'ignore',
      windowsHide: true,
    }).on('error', () => {});
  }

  /**
   * Ends the processes that the leader left: SIGTERM, and SIGKILL after `grace` milliseconds. Call it as soon as the
   * leader is gone, because another group may get its number once this group is empty.
   */
  async endSurvivors(grace: number): Promise<void> {
    if (WINDOWS || !(await survives(this.pid))) return;
    this.signal('SIGTERM');
    if (await this.#gone(grace)) return;
    this.signal('SIGKILL');
    await this.#gone(LAST_WAIT);
  }

  forget(): void {
    live.delete(this.pid);
    if (live.size === 0) process.off('exit', killGroups);
  }

  async #gone(limit: number): Promise<boolean> {
    const end = performance.now() + limit;
    for (let poll = FIRST_POLL; await survives(this.pid); poll = Math.min(poll * 2, LAST_POLL)) {
      const left = end - performance.now();
      if (left <= 0) return false;
      await new Promise((resolve) => setTimeout(resolve, Math.min(poll, left)));
    }
    return true;
  }
}

/** Signals a group. Returns false if the group does not exist or belongs to another user. */
function send(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

async function survives(pid: number): Promise<boolean> {
  if (!send(pid, 0)) return false;
  if (process.platform !== 'linux') return true;
  // A dead process counts as part of its group until it is reaped. In a container without an init, that never happens.
  try {
    return (await listProcesses()).some(({ group }) => group === pid);
  } catch {
    return true; // /proc cannot be read, but the signal found a process.
  }
}
