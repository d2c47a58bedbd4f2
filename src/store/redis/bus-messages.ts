import { createHmac, timingSafeEqual } from 'node:crypto';
import { checkStateKey } from '../../base/state-key.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import type { NodeId } from '../bus.ts';

/** How many messages of a sender may overtake one. */
const WINDOW = 1000;
/** How many senders are remembered. */
const MAX_SENDERS = 10_000;

/** A message between two nodes. */
export interface BusMessage {
  readonly to: NodeId;
  readonly from: NodeId;
  /** Each message of a sender has another number, and a later one has a larger number. */
  readonly n: number;
  readonly kind: string;
  readonly body: JsonObject;
}

/** Writes and reads the messages of a bus. Who can write to Redis can neither make a message nor change or repeat one. */
export class BusMessages {
  readonly #node: NodeId;
  readonly #key: Buffer;
  readonly #received = new Map<NodeId, Received>();
  #sent = 0;

  /** @throws RangeError if the key is shorter than 16 bytes. */
  constructor(node: NodeId, stateKey: string | Uint8Array) {
    checkStateKey(stateKey);
    this.#node = node;
    this.#key = createHmac('sha256', stateKey).update('everwire-bus').digest();
  }

  /** @param body as JSON. */
  write(to: NodeId, kind: string, body: string): { n: number; text: string; mac: string } {
    const n = (this.#sent += 1);
    const text = `${JSON.stringify([to, this.#node, n, kind]).slice(0, -1)},${body}]`;
    return { n, text, mac: this.#macOf(text).toString('base64url') };
  }

  /** A message to this node, once. `forged` if no node with the key has made it. */
  read(text: string, mac: string): BusMessage | 'forged' | 'repeated' {
    const [expected, given] = [this.#macOf(text), Buffer.from(mac, 'base64url')];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'forged';
    const [to, from, n, kind, body] = JSON.parse(text) as [NodeId, NodeId, number, string, JsonObject];
    // Someone has copied it from another inbox.
    if (to !== this.#node) return 'forged';
    return this.#isFirst(from, n) ? { to, from, n, kind, body } : 'repeated';
  }

  #macOf(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }

  #isFirst(from: NodeId, n: number): boolean {
    let received = this.#received.get(from);
    if (!received) {
      this.#received.set(from, (received = new Received()));
      if (this.#received.size > MAX_SENDERS) this.#received.delete(this.#received.keys().next().value!);
    }
    return received.isFirst(n);
  }
}

/** The numbers of the messages of one sender. Older ones than the window count as received. */
class Received {
  /** By their remainder, so that each number replaces one that is too old. */
  readonly #numbers: number[] = [];
  #newest = 0;

  isFirst(n: number): boolean {
    const at = n % WINDOW;
    if (n <= this.#newest - WINDOW || this.#numbers[at] === n) return false;
    this.#numbers[at] = n;
    this.#newest = Math.max(this.#newest, n);
    return true;
  }
}
