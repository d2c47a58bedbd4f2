import { MessageSkim } from '../jsonrpc/skim.ts';
import { Pieces } from './pieces.ts';
import type { MessageKind, Part } from './record.ts';

/** Recognises a JSON-RPC message of any size without keeping its bytes. */
export class MessageReader {
  readonly #pieces = new Pieces();
  #skim = new MessageSkim();

  /** @param offset where the bytes begin in their stream. */
  push(bytes: Uint8Array, offset: number): void {
    this.#pieces.add(offset, offset + bytes.length);
    this.#skim.push(bytes);
  }

  /**
   * The message that ends here. Undefined if the bytes are something else. Afterwards the reader is ready for the next
   * one.
   */
  take(): Part | undefined {
    if (this.#pieces.isEmpty) return undefined;
    const { kind, id, hasId, method, hasMethod, outcome, whole, ofObjects } = this.#skim.envelope;
    const pieces = this.#pieces.take();
    this.#skim = new MessageSkim();
    if (!whole) return undefined;
    if (kind === 'batch') return ofObjects ? { layer: 'message', ...pieces, kind } : undefined;
    const what: MessageKind | undefined = hasMethod ? (hasId ? 'request' : 'notification') : outcome;
    if (what === undefined) return undefined;
    return { layer: 'message', ...pieces, kind: what, id, method };
  }
}
