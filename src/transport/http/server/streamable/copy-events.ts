import { SLICE } from '../../../../base/read-turns.ts';
import { stringify } from '../../../../jsonrpc/stringify.ts';
import type { EventId, EventLog, SessionId } from '../../../../store/event-log.ts';
import type { SseConnection } from '../connection.ts';
import { messageEvent, primingEvent, retryField } from '../sse.ts';

/** Where events are, and the last one that the client has got. */
export interface Place {
  readonly log: EventLog;
  readonly session: SessionId;
  readonly after: EventId;
  /** Runs a read of the log when its turn comes. See `ReadTurns`. */
  readonly whenItsTurn: (read: () => Promise<number>) => Promise<void>;
}

/**
 * Writes the stored events of a stream to a connection, as fast as it reads. Returns the last one.
 *
 * @throws EventsPurged if some of them were dropped.
 */
export async function copyEvents(
  { log, session, after, whenItsTurn }: Place,
  connection: SseConnection,
): Promise<EventId> {
  let place = after;
  let isAll: boolean;
  const read = async (): Promise<number> => {
    let length = 0;
    isAll = false;
    for await (const { id, message } of log.after(session, place)) {
      if (connection.closed) return length;
      const event = message ? messageEvent(stringify(message), id) : '';
      connection.write(event);
      length += event.length;
      place = id;
      if (connection.full || length >= SLICE) return length;
    }
    isAll = true;
    return length;
  };
  await connection.drained();
  do {
    await whenItsTurn(read);
    await connection.drained();
  } while (!isAll! && !connection.closed);
  return place;
}

/**
 * Writes the stored events, and tells the client when to ask for more.
 *
 * @param primes whether the client knows events without data. Clients forget the last id if a response has none.
 * @throws as `copyEvents`.
 */
export async function pollEvents(
  place: Place,
  connection: SseConnection,
  retry: number,
  primes: boolean,
): Promise<void> {
  try {
    if (primes) connection.write(primingEvent(place.after));
    await copyEvents(place, connection);
    connection.write(retryField(retry));
    connection.end();
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
