import { randomBytes } from 'node:crypto';
import type { EventId, StreamId } from '../../../../store/event-log.ts';
import type { NodeId } from '../../../../store/state.ts';

/** A store that several processes use at once. */
export interface SharedStore {
  /** This process. */
  readonly node: NodeId;
  readonly isAlive: (node: NodeId) => Promise<boolean>;
}

/** The id of a session's own stream, after the beginning that all ids of streams have. */
export const STANDALONE = '0';

/** Begins the ids of streams of one process in one session, so that no event id is used twice. */
export function newStreamPrefix(shared: SharedStore | undefined): string {
  return `${randomBytes(5).toString('hex')}x${shared ? `${shared.node}x` : ''}`;
}

/** The stream of an event. */
export function streamIn(event: EventId): StreamId {
  return event.slice(0, event.lastIndexOf('-'));
}

/** Whether an event is of a session's own stream, in any process. */
export function isOfStandalone(event: EventId): boolean {
  return /^(?:[0-9a-f]{10}x(?:[0-9a-z]+x)?)?0-\d+$/.test(event);
}

/** The other process that has written a stream of a call. Undefined if this one has. */
export function writerOf(stream: StreamId, { node }: SharedStore): NodeId | undefined {
  const [, writer] = /^[0-9a-f]{10}x([0-9a-z]+)x\d+$/.exec(stream) ?? [];
  return writer === node ? undefined : writer;
}

/** Whether another process may go on with a stream. */
export async function isWritten(stream: StreamId, shared: SharedStore): Promise<boolean> {
  const writer = writerOf(stream, shared);
  return writer !== undefined && shared.isAlive(writer);
}
