import type { JsonObject } from '../jsonrpc/message.ts';
import { BusCalls } from './bus-calls.ts';
import { BusListeners, type Bus, type BusListener, type NodeId } from './bus.ts';

/**
 * Makes a bus in the memory of one process, for tests of several nodes. Returns a function that joins it as a node.
 *
 * @param isAlive whether a node still reads its messages. Default: all do.
 */
export function memoryBus(isAlive: (node: NodeId) => boolean = () => true): (node: NodeId) => Bus {
  const nodes = new Map<NodeId, BusListeners>();
  const pass = async (to: NodeId, kind: string, text: string): Promise<boolean> => {
    await Promise.resolve();
    return isAlive(to) && (nodes.get(to)?.take(kind, JSON.parse(text) as JsonObject, text.length) ?? false);
  };
  return (node) => {
    const listeners = new BusListeners();
    nodes.set(node, listeners);
    const on = (kind: string, listener: BusListener): (() => void) => listeners.on(kind, listener);
    const send = async (to: NodeId, kind: string, body: JsonObject): Promise<boolean> =>
      to !== node && pass(to, kind, JSON.stringify(body));
    const calls = new BusCalls(node, { send, on }, async (other) => isAlive(other));
    return {
      send,
      call: (...call) => calls.call(...call),
      answer: (...handler) => calls.answer(...handler),
      sendToAll: async (kind, body) => {
        const text = JSON.stringify(body);
        const others = [...nodes.keys()].filter((to) => to !== node);
        await Promise.all(others.map((to) => pass(to, kind, text)));
      },
      on,
    };
  };
}
