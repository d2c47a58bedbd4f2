import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** One process, as reported by the system. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Its resident memory in bytes, shared memory included. */
  readonly resident: number;
}

/** The largest list of processes, in bytes. */
const MAX_LIST = 16 * 1024 * 1024;

/**
 * All visible processes of this machine: from /proc on Linux, otherwise from `ps`.
 *
 * @throws if neither exists, as on Windows.
 */
export async function listProcesses(platform = process.platform): Promise<ProcessEntry[]> {
  if (platform === 'linux') return fromProc();
  if (platform === 'win32') throw new Error('The processes of a group cannot be listed on Windows');
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,pgid=,rss='], { maxBuffer: MAX_LIST });
  return parsePs(stdout);
}

/** @param text lines of process, parent, group and resident kibibytes. */
export function parsePs(text: string): ProcessEntry[] {
  return text.split('\n').flatMap((line) => {
    const [pid, parent, group, resident] = line.trim().split(/\s+/).map(Number);
    return pid && resident !== undefined ? [{ pid, parent: parent!, group: group!, resident: resident * 1024 }] : [];
  });
}

/** A process, its descendants, and the processes of its group that lost their parents. */
export function treeOf(leader: number, processes: readonly ProcessEntry[]): ProcessEntry[] {
  const children = byParent(processes);
  const found = new Map<number, ProcessEntry>();
  const todo = processes.filter(({ pid, group }) => pid === leader || group === leader);
  for (let next = todo.pop(); next; next = todo.pop()) {
    if (found.has(next.pid)) continue;
    found.set(next.pid, next);
    todo.push(...(children.get(next.pid) ?? []));
  }
  return [...found.values()];
}

function byParent(processes: readonly ProcessEntry[]): Map<number, ProcessEntry[]> {
  const children = new Map<number, ProcessEntry[]>();
  for (const entry of processes) {
    const siblings = children.get(entry.parent);
    if (siblings) siblings.push(entry);
    else children.set(entry.parent, [entry]);
  }
  return children;
}

/** Reads one process after the other: there may be thousands, and this process must stay responsive. */
async function fromProc(): Promise<ProcessEntry[]> {
  const found: ProcessEntry[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d/.test(name)) continue;
    try {
      const stat = await readFile(`/proc/${name}/stat`, 'latin1');
      // pid (name, which may contain any character) state parent group … ; the resident pages are the 22nd field after
      // the name.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 22);
      const pages = Number(fields[21]);
      if (fields[0] === 'Z' || fields[0] === 'X') continue;
      found.push({
        pid: Number(name),
        parent: Number(fields[1]),
        group: Number(fields[2]),
        resident: pages * (await pageSize()),
      });
    } catch (error) {
      // The process ended while its entry was being read, or belongs to another user.
      if (!['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return found;
}

let page: Promise<number> | undefined;

/** The page size in bytes, read from the first mapping of this process, which is its program. */
function pageSize(): Promise<number> {
  page ??= readFile('/proc/self/smaps', 'latin1').then(
    (smaps) => Number(/^KernelPageSize:\s+(\d+) kB/m.exec(smaps)?.[1] ?? 4) * 1024,
    () => 4096,
  );
  return page;
}
