import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

const WINDOWS = process.platform === 'win32';
/**
 * How often a group is asked whether anything of it is left: nothing tells of the end of a child's child. Milliseconds;
 * most are gone at once, and each time that one is not, the next question comes later, since all of /proc is read for it.
 */
const FIRST_POLL = 10;
const LAST_POLL = 500;
/** How long the dead are waited for after SIGKILL. */
const LAST_WAIT = 1000;

const live = new Set<number>();

/** Nothing asynchronous runs any more when this does: what is left is ended at once. */
function endAll(): void {
  for (const pid of live) {
    if (WINDOWS) spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'], { windowsHide: true });
    else send(pid, 'SIGKILL');
  }
}

/**
 * A child process and those that it started itself. On POSIX, a process group whose leader is the child; what has left
 * the group (a daemon with a session of its own) is not found. On Windows, the process tree.
 *
 * Until `forget` is called, the group is ended with this process at the latest.
 */
export class ProcessGroup {
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
    if (live.size === 0) process.on('exit', endAll);
    live.add(pid);
  }

  /** SIGTERM asks every process of the group to end, SIGKILL ends it. Windows knows only the latter. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (!WINDOWS) return void send(this.pid, signal);
    // Where it fails the process is gone already, or the exit that is waited for does not come, which is reported.
    spawn('taskkill', ['/pid', String(this.pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true }).on(
      'error',
      () => {},
    );
  }

  /**
   * Ends what the leader left behind: SIGTERM, and SIGKILL after `grace` milliseconds. To be called as soon as the
   * leader is gone, since its number may be given to another group once this one is empty.
   */
  async endSurvivors(grace: number): Promise<void> {
    if (WINDOWS || !survives(this.pid)) return;
    this.signal('SIGTERM');
    if (await this.#gone(grace)) return;
    this.signal('SIGKILL');
    await this.#gone(LAST_WAIT);
  }

  forget(): void {
    live.delete(this.pid);
    if (live.size === 0) process.off('exit', endAll);
  }

  async #gone(limit: number): Promise<boolean> {
    const end = Date.now() + limit;
    for (let poll = FIRST_POLL; survives(this.pid); poll = Math.min(poll * 2, LAST_POLL)) {
      const left = end - Date.now();
      if (left <= 0) return false;
      await new Promise((resolve) => setTimeout(resolve, Math.min(poll, left)));
    }
    return true;
  }
}

/** Signals a group. False where there is none, or none that is ours. */
function send(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

function survives(pid: number): boolean {
  if (!send(pid, 0)) return false;
  if (process.platform !== 'linux') return true;
  // A dead process counts as one of its group until it is reaped, which in a container without an init is never.
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return true; // It is not mounted, or not for us: the signal reached something.
  }
  return names.some((name) => /^\d/.test(name) && isLiveMember(name, pid));
}

function isLiveMember(name: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
    // pid (name, which may hold anything) state parent group
    const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
    return Number(pgrp) === group && state !== 'Z' && state !== 'X';
  } catch {
    return false; // It ended while it was looked at.
  }
}
