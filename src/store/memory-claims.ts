import type { NodeId } from './bus.ts';
import { KnownClaims, type Claims } from './claims.ts';

/**
 * Makes claims in the memory of one process, for tests of several nodes. Returns a function that joins them as a node.
 *
 * @param isAlive whether a node is alive. Default: all are.
 */
export function memoryClaims(isAlive: (node: NodeId) => boolean = () => true): (node: NodeId) => Claims {
  const holders = new Map<string, NodeId>();
  const texts = new Map<string, string>();
  const nodes = new Map<NodeId, KnownClaims>();
  return (node) => {
    const known = new KnownClaims();
    nodes.set(node, known);
    return {
      claim: async (key) => {
        const holder = holders.get(key);
        if (holder !== undefined && holder !== node && isAlive(holder)) return holder;
        holders.set(key, node);
        known.add(key);
        if (holder !== undefined && holder !== node) nodes.get(holder)?.lose(key);
        return node;
      },
      release: async (key) => {
        known.delete(key);
        if (holders.get(key) === node) holders.delete(key);
      },
      holds: (key) => known.has(key) && isAlive(node),
      keep: async (key, text) => {
        if (holders.get(key) !== node) return;
        if (text === undefined) texts.delete(key);
        else texts.set(key, text);
      },
      kept: async (key) => texts.get(key),
      onlost: (listener) => known.onlost(listener),
    };
  };
}
