import type { NodeId } from '../store/bus.ts';

/** The name of a runner among all processes. @param n its number in this one. */
export function runnerOf(node: NodeId, n: number): string {
  return `${node}-${n}`;
}

/** The process of a runner. */
export function nodeOf(runner: string): NodeId {
  return runner.replace(/-\d+$/, '');
}
