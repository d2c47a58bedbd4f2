import type { RequestId } from '../../../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../../../protocol/revisions.ts';
import type { HttpCall } from '../call.ts';
import { CallExtra } from '../extra.ts';

/** A session whose streams its owner can pause. */
interface PausableSession {
  readonly profile: RevisionProfile | undefined;
  pauseStream(id?: RequestId): void;
}

/**
 * What the transport's owner gets with a message. The two functions have the same names and meaning in the official
 * SDK.
 */
export class SessionExtra extends CallExtra {
  readonly #session: PausableSession;
  readonly #id: RequestId | undefined;

  constructor(session: PausableSession, call: HttpCall, among: number, id: RequestId | undefined) {
    super(call, among);
    this.#session = session;
    this.#id = id;
  }

  get closeSSEStream(): (() => void) | undefined {
    const id = this.#id;
    return id !== undefined && this.#session.profile?.primingEvent ? () => this.#session.pauseStream(id) : undefined;
  }

  get closeStandaloneSSEStream(): (() => void) | undefined {
    return this.#session.profile?.primingEvent ? () => this.#session.pauseStream() : undefined;
  }
}
