import { randomUUID } from 'node:crypto';
import { shareOf } from '../../../../base/share.ts';
import { NoShareRoom, ShareRoom } from '../../../../base/share-room.ts';
import { errorResponse, type ErrorResponse, type JsonObject, type Message } from '../../../../jsonrpc/message.ts';
import { InvalidMessage } from '../../../../jsonrpc/parse.ts';
import { isUnanswered, type BusReach, type NodeId } from '../../../../store/bus.ts';
import type { HttpCall } from '../call.ts';
import type { SessionTable, TableSession } from '../sessions.ts';
import { SseSession } from './sse-session.ts';

/** The kind of the calls between processes. */
const KIND = 'sse';
/** The most messages of one client that wait for other processes. */
const MAX_OF_ONE = 64;
/** The most bytes of them. A single one may be larger. */
const MAX_BYTES_OF_ONE = 2 * 1024 * 1024;
/** The longest name of a process. Characters. */
const MAX_NODE = 64;

/**
 * What became of a message for another process: it was taken or refused there, the session has ended, or the process did not
 * answer.
 */
export type PassedPost = 'taken' | 'gone' | 'unreachable' | ErrorResponse;

/**
 * Passes messages of HTTP+SSE clients to the processes that have their streams. The id of a session names its process.
 */
export class PassedPosts {
  readonly #reach: BusReach;
  readonly #sessions: SessionTable<TableSession>;
  readonly #onerror: (error: Error) => void;
  readonly #room = new ShareRoom(MAX_OF_ONE, MAX_BYTES_OF_ONE);
  readonly #stop: () => void;

  constructor(reach: BusReach, sessions: SessionTable<TableSession>, onerror: (error: Error) => void) {
    this.#reach = reach;
    this.#sessions = sessions;
    this.#onerror = onerror;
    this.#stop = reach.bus.answer(KIND, async (post) => this.#receive(post));
  }

  /** The id of a new session. */
  newId(): string {
    return `${randomUUID()}.${this.#reach.node}`;
  }

  /** The other process that may have the stream of a session. */
  processOf(id: string): NodeId | undefined {
    const [, node] = /^[^.]{36}\.([0-9a-z]+)$/.exec(id) ?? [];
    return node === undefined || node.length > MAX_NODE || node === this.#reach.node ? undefined : node;
  }

  /** Passes the body of a call on. Its caller may make its requests. @throws (rejects) an error of the other process. */
  async pass(to: NodeId, session: string, body: Message | readonly unknown[], call: HttpCall): Promise<PassedPost> {
    const { principal, auth, address, bodyBytes: bytes } = call;
    const post = { session, body, principal, auth, address, bytes };
    try {
      const { outcome } = await this.#room.within(shareOf(call), bytes, () => this.#reach.bus.call(to, KIND, post));
      return outcome as PassedPost;
    } catch (error) {
      if (error instanceof NoShareRoom) return 'unreachable';
      if (!isUnanswered(error)) throw error;
      // The session has ended with its process.
      if (!(await this.#reach.isAlive(to).catch(() => true))) return 'gone';
      this.#onerror(error);
      return 'unreachable';
    }
  }

  /** Takes no messages any more. */
  close(): void {
    this.#stop();
  }

  #receive({ session: id, body, principal, auth, address, bytes }: JsonObject): { outcome: PassedPost } {
    const session = this.#sessions.get(id);
    if (!(session instanceof SseSession) || session.principal !== principal || !session.connected)
      return { outcome: 'gone' };
    const { header } = session;
    try {
      session.receive(body, (among) => ({ principal, auth, address, header, bytes: bytes / among }));
      return { outcome: 'taken' };
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error;
      return { outcome: errorResponse(error.id, error.toObject()) };
    }
  }
}
