import { listProcesses, treeOf, type ProcessEntry } from './process-tree.ts';

/** How often all trees are measured. Milliseconds, from the end of one measurement to the next. */
const INTERVAL = 2000;

/** One process tree, and how much memory it may have. */
interface WatchedTree {
  readonly pid: number;
  /** Bytes that are resident, of all of its processes together; what they share counts for each. */
  readonly limit: number;
  /** Called once, with what it has (bytes) and the processes that it is made of. It is not watched any more then. */
  readonly onexceeded: (used: number, processes: readonly number[]) => void;
  /** Called where nothing can be measured, each time. */
  readonly onerror: (error: Error) => void;
}

const trees = new Set<WatchedTree>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Measures a tree every two seconds, in one go with all others. @returns what ends that. */
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
