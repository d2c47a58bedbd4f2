import type { WireRecord } from './record.ts';

/** Tells the records of connections that are for messages from those that are for authorization. */
export class MessageConnections {
  readonly #others = new Set<number>();

  /** To be called with each record, in their order. */
  has(record: WireRecord): boolean {
    if (record.layer === 'gap') return true;
    const { conn } = record;
    if (record.layer === 'open' && record.purpose !== undefined) this.#others.add(conn);
    const isOther = this.#others.has(conn);
    if (record.layer === 'close') this.#others.delete(conn);
    return !isOther;
  }
}
