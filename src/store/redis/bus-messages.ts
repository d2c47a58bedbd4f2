import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { checkStateKey } from '../../base/state-key.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import type { NodeId } from '../bus.ts';

/** How many envelopes of a sender may overtake one. */
const WINDOW = 1000;
/** How many senders are remembered. */
const MAX_SENDERS = 10_000;

/** A message to another node, to be sent. */
export interface OutgoingMessage {
  readonly kind: string;
  /** As JSON. */
  readonly body: string;
}

/** A message of another node. */
export interface IncomingMessage {
  readonly kind: string;
  readonly body: JsonObject;
  /** About in bytes. */
  readonly size: number;
}

/** Says that an envelope of the receiver was handled here. */
export interface Confirmation {
  /** The number of the envelope. */
  readonly n: number;
  /** Whether a listener has taken each of its messages. */
  readonly taken: readonly boolean[];
  /** How long the confirmation waited for others. Milliseconds. */
  readonly held: number;
}

/** What goes to one node together, to be sent. */
export interface Contents {
  readonly confirmations: readonly Confirmation[];
  readonly messages: readonly OutgoingMessage[];
  /** Whether nobody waits for the confirmation, so that it may go together with other messages. */
  readonly patient: boolean;
}

/** What has come from another node together. */
export interface Envelope {
  readonly from: NodeId;
  /** Each envelope of a sender has another number, and a later one has a larger number. */
  readonly n: number;
  readonly confirmations: readonly Confirmation[];
  readonly messages: readonly IncomingMessage[];
  readonly patient: boolean;
}

type Written = [
  to: NodeId,
  from: NodeId,
  n: number,
  patient: boolean,
  confirmations: Confirmation[],
  ...messages: (string | JsonObject)[],
];

/** Writes and reads the messages of a bus. Who can write to Redis can neither make a message nor change or repeat one. */
export class BusMessages {
  readonly #node: NodeId;
  readonly #key: KeyObject;
  readonly #received = new Map<NodeId, Received>();
  #sent = 0;

  /** @throws RangeError if the key is shorter than 16 bytes. */
  constructor(node: NodeId, stateKey: string | Uint8Array) {
    checkStateKey(stateKey);
    this.#node = node;
    this.#key = createSecretKey(createHmac('sha256', stateKey).update('everwire-bus').digest());
  }

  write(to: NodeId, { confirmations, messages, patient }: Contents): { n: number; text: string; mac: string } {
    const n = (this.#sent += 1);
    let text = JSON.stringify([to, this.#node, n, patient, confirmations]).slice(0, -1);
    for (const { kind, body } of messages) text += `,${JSON.stringify(kind)},${body}`;
    text += ']';
    return { n, text, mac: this.#macOf(text).toString('base64url') };
  }

  /** What is for this node, once. `forged` if no node with the key has made it. */
  read(text: string, mac: string): Envelope | 'forged' | 'repeated' {
    const [expected, given] = [this.#macOf(text), Buffer.from(mac, 'base64url')];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'forged';
    const [to, from, n, patient, confirmations, ...rest] = JSON.parse(text) as Written;
    // Someone has copied it from another inbox.
    if (to !== this.#node) return 'forged';
    if (!this.#isFirst(from, n)) return 'repeated';
    // Those that go together are short, and about equally long.
    const size = Math.ceil((2 * text.length) / rest.length);
    const messages: IncomingMessage[] = [];
    for (let at = 0; at < rest.length; at += 2)
      messages.push({ kind: rest[at] as string, body: rest[at + 1] as JsonObject, size });
    return { from, n, patient, confirmations, messages };
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

/** The numbers of the envelopes of one sender. Older ones than the window count as received. */
class Received {
  /** By their remainder, so that each number replaces one that is too old. */
  // Stryker disable next-line ArrayDeclaration: what is no number equals none, like a place that is empty
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
