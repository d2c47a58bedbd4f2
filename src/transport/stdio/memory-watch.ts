import { listProcesses, treeOf, type ProcessEntry } from './process-tree.ts';

/** How often all trees are measured. Milliseconds, from the end of one measurement to the next. */
const INTERVAL = 2000;

/** A process tree with a memory limit. */
interface WatchedTree {
  readonly pid: number;
  /** The most resident bytes of all its processes together. Shared memory counts for each process. */
  readonly limit: number;
  /** Called once, with the bytes in use and the processes of the tree. The tree is no longer watched then. */
  readonly onexceeded: (used: number, processes: readonly number[]) => void;
  /** Called each time the memory cannot be measured. */
  readonly onerror: (error: Error) => void;
}

const trees = new Set<WatchedTree>();
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Measures a process tree every two seconds, together with all others.
 *
 * @returns a function that stops it.
 */
export function watchMemory(tree: WatchedTree, list: () => Promise<ProcessEntry[]> = listProcesses): () => void {
  trees.add(tree);
  schedule(list);
  return () => {
    trees.delete(tree);
    if (trees.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
}

function schedule(list: () => Promise<ProcessEntry[]>): void {
  timer ??= setTimeout(() => {
    void measure(list).finally(() => {
      timer = undefined;
      if (trees.size > 0) schedule(list);
    });
  }, INTERVAL).unref();
}

async function measure(list: () => Promise<ProcessEntry[]>): Promise<void> {
  let processes: ProcessEntry[];
  try {
    processes = await list();
  } catch (error) {
    for (const { onerror } of [...trees]) onerror(error as Error);
    return;
  }
  for (const tree of [...trees]) {
    const members = treeOf(tree.pid, processes);
    const used = members.reduce((sum, { resident }) => sum + resident, 0);
    if (used <= tree.limit) continue;
    trees.delete(tree);
    tree.onexceeded(
      used,
      members.map(({ pid }) => pid),
    );
  }
}
