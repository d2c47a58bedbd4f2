import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Seconds that children get after their stdin has closed, and again after SIGTERM. */
const GRACE = 2;

/**
 * Reads `+ group` and `- group`, line by line. When its input ends, this process has ended, and the script ends the
 * remaining groups. The script runs in the background and its shell exits at once. So it is not a child of this
 * process, and gets no signals from a terminal.
 */
const SCRIPT = `
{
  groups=' '
  while read -r change group; do
    case $change in
      +) groups="$groups$group " ;;
      -) groups="\${groups%% $group *} \${groups#* $group }" ;;
    esac
  done
  [ "$groups" = ' ' ] && exit
  sleep $1
  for group in $groups; do kill -s TERM -- "-$group"; done
  sleep $1
  for group in $groups; do kill -s KILL -- "-$group"; done
} <&3 3>&- &
`;

/**
 * A process that survives this one and ends its children if this one cannot, for example after SIGKILL. Shared by all
 * children. Once started, it runs as long as this process.
 */
class Watchdog {
  readonly #groups = new Set<number>();
  /** The pipe to its shell. */
  #pipe: Socket | undefined;

  /**
   * Starts it, unless it runs. Call this before a child is started: if this process is killed in between, nothing else
   * ends that child. Does nothing on Windows.
   *
   * @param onerror called if there is no shell.
   */
  start(onerror: (error: Error) => void): void {
    if (process.platform === 'win32' || this.#pipe?.writable) return;
    // The script does not read stdin, because Node closes that when the started shell has exited.
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'everwire-watchdog', String(GRACE)], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      detached: true,
    });
    shell.once('error', onerror);
    // Without file descriptors there is no pipe.
    const pipe = (shell.stdio as typeof shell.stdio | undefined)?.[3] as Socket | undefined;
    if (!pipe) return;
    // If the watchdog is gone, the next child starts another.
    pipe.on('error', () => {});
    pipe.on('end', () => pipe.destroy());
    pipe.resume();
    // It must not keep this process alive.
    shell.unref();
    pipe.unref();
    this.#pipe = pipe;
    // If the watchdog was killed, its successor gets all groups again.
    for (const group of this.#groups) this.#tell(`+ ${group}\n`);
  }

  /** Watches a process group until `forget` is called. */
  add(group: number): void {
    this.#groups.add(group);
    this.#tell(`+ ${group}\n`);
  }

  forget(group: number): void {
    if (this.#groups.delete(group)) this.#tell(`- ${group}\n`);
  }

  #tell(line: string): void {
    if (this.#pipe?.writable) this.#pipe.write(line);
  }
}

export const watchdog = new Watchdog();
