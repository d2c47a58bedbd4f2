import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Seconds that what watches gives children to see that their stdin is closed, and then to follow SIGTERM. */
const GRACE = 2;

/**
 * Reads `+ group` and `- group`, line by line. When there is nothing more to read, this process is gone, and what is left
 * of the groups is ended. It is in the background, and its shell ends at once: so it is nobody's child, and in no group
 * that a signal from a terminal reaches.
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

/** What survives this process to end its children where it cannot do so itself, as after SIGKILL. One for all. */
class Watchdog {
  readonly #groups = new Set<number>();
  /** The way to it. */
  #line: Socket | undefined;

  /**
   * Watches over a process group, until `forget`.
   *
   * @param onerror called where there is no shell that could.
   */
  add(group: number, onerror: (error: Error) => void): void {
    this.#groups.add(group);
    // What it was told before is told to its successor, where something has ended it.
    if (this.#line?.writable) this.#tell(`+ ${group}\n`);
    else this.#start(onerror);
  }

  forget(group: number): void {
    if (!this.#groups.delete(group)) return;
    if (this.#groups.size > 0) return this.#tell(`- ${group}\n`);
    // With nobody left to watch over there is none.
    this.#tell(`- ${group}\n`);
    this.#line?.end();
    this.#line = undefined;
  }

  #start(onerror: (error: Error) => void): void {
    // Not stdin, which is closed when the shell that is started has ended.
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'everwire-watchdog', String(GRACE)], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      detached: true,
    });
    shell.once('error', onerror);
    const line = shell.stdio[3] as Socket;
    // Where it is gone, the next child has another.
    line.on('error', () => {});
    line.on('end', () => line.destroy());
    line.resume();
    // It must not keep this process alive.
    shell.unref();
    line.unref();
    this.#line = line;
    for (const group of this.#groups) this.#tell(`+ ${group}\n`);
  }

  #tell(line: string): void {
    if (this.#line?.writable) this.#line.write(line);
  }
}

export const watchdog = new Watchdog();
