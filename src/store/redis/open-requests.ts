import type { RequestId } from '../../jsonrpc/message.ts';
import type { SessionId, StreamId } from '../event-log.ts';

/** The most sessions with open requests that are remembered. */
const MAX_SESSIONS = 10_000;

/** The requests without a response of the streams that this process writes. If Redis loses its data, it is told again. */
export class OpenRequests {
  readonly #sessions = new Map<SessionId, Map<StreamId, readonly RequestId[]>>();

  open(session: SessionId, stream: StreamId, requests: readonly RequestId[]): void {
    const streams = this.#sessions.get(session) ?? new Map<StreamId, readonly RequestId[]>();
    streams.set(stream, requests);
    this.#sessions.set(session, streams);
    if (this.#sessions.size <= MAX_SESSIONS) return;
    for (const oldest of this.#sessions.keys()) {
      this.#sessions.delete(oldest);
      break;
    }
  }

  of(session: SessionId, stream: StreamId): readonly RequestId[] | undefined {
    return this.#sessions.get(session)?.get(stream);
  }

  answered(session: SessionId, stream: StreamId, id: RequestId | undefined): void {
    const left = this.of(session, stream)?.filter((request) => request !== id);
    if (left?.length === 0) this.end(session, stream);
    else if (left) this.#sessions.get(session)!.set(stream, left);
  }

  end(session: SessionId, stream: StreamId): void {
    const streams = this.#sessions.get(session);
    if (streams?.delete(stream) && streams.size === 0) this.#sessions.delete(session);
  }

  drop(session: SessionId): void {
    this.#sessions.delete(session);
  }
}
