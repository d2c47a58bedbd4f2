import { createHash } from 'node:crypto';
import type { Owner } from '../../../../base/share.ts';
import { ErrorCode } from '../../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isObject,
  type ErrorObject,
  type JsonObject,
  type Request,
  type RequestId,
  type Response,
} from '../../../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../../../jsonrpc/pending.ts';
import type { NodeId } from '../../../../store/bus.ts';
import type { EventLog, SessionId, StreamId } from '../../../../store/event-log.ts';
import {
  SessionStoreFull,
  type OwnStreamPlace,
  type SessionRecord,
  type SessionSettings,
  type SessionStore,
} from '../../../../store/session-store.ts';
import { storedShareOf } from '../../../../base/stored-share.ts';
import { changed, settingOf, type Setting } from './session-settings.ts';
import { isWritten, type SharedStore } from './stream-ids.ts';

/** The error of a call whose process has ended. */
const LOST: ErrorObject = {
  code: CONNECTION_CLOSED,
  message: 'The server was restarted before this was done; it may have been done in part',
};

/** The name of a session in a store. Whoever can read the store cannot use the session. */
export function storedIdOf(sessionId: string): SessionId {
  return createHash('sha256').update('everwire-session').update(sessionId).digest('base64url');
}

/** Reads a session that another process has stored. Undefined if none has, or if it cannot be as Everwire has written it. */
export async function readRecord(store: SessionStore, id: SessionId): Promise<SessionRecord | undefined> {
  const record = await store.get(id);
  const { initialize, logLevel = '', resources = [] }: JsonObject = { ...record };
  const isWhole = isObject(initialize) && typeof logLevel === 'string' && Array.isArray(resources);
  return isWhole && resources.every((uri) => typeof uri === 'string') ? record : undefined;
}

const NOT_STORED =
  'The log level or subscription has changed, but the change could not be stored: it is lost when the server restarts';
const NOT_TOLD =
  'The log level or subscription has changed here, but other processes that have the session could not be told';

/** Tells other processes what has changed. @throws (rejects) if some process may not know it. */
export type Tell = (changes: readonly Setting[]) => Promise<void> | undefined;

/** One session in a store: what other processes have stored of it, and what this one changes. */
export class StoredSession {
  readonly id: SessionId;
  readonly #store: SessionStore;
  /** The session, as far as this process knows. Undefined if it has ended. */
  #record: SessionRecord | undefined;
  /** Whether it is stored when it is open. */
  #isNew = false;
  /** What requests in flight will change, by their ids. */
  #changes: Map<RequestId, Setting> | undefined;
  /** Changes for the next write. */
  #waiting: Setting[] = [];
  #nextWrite: Promise<string | undefined> | undefined;
  /** Settles with the write in flight. Never rejects. */
  #write: Promise<unknown> | undefined;

  /** @param record what other processes have stored. */
  constructor(store: SessionStore, id: SessionId, record: SessionRecord | undefined) {
    this.#store = store;
    this.id = id;
    this.#record = record;
  }

  /**
   * The client has sent `initialize`.
   *
   * @param reader this process, if several use the store. The client reads the session's own stream here first.
   */
  begin(owner: Owner, initialize: JsonObject, reader: NodeId | undefined): void {
    const { protocolVersion, capabilities, clientInfo } = initialize;
    // Nothing else in it can be used again.
    const kept = { protocolVersion, capabilities, clientInfo };
    const { principal } = owner;
    this.#isNew = true;
    this.#record = {
      ...(principal === undefined ? {} : { principal }),
      ...(reader === undefined ? {} : { own: { reader } }),
      share: storedShareOf(owner),
      initialize: kept,
    };
  }

  /** `initialize` has succeeded. Stores a new session. */
  async opened(): Promise<void> {
    if (!this.#isNew || !this.#record) return;
    this.#isNew = false;
    await this.#store.put(this.id, this.#record);
  }

  /** Where the session's own stream is read. */
  async own(): Promise<OwnStreamPlace | undefined> {
    return ((await this.#store.get(this.id)) ?? this.#record)?.own;
  }

  /** Changes where the session's own stream is. Returns the new settings; undefined if the session has ended. */
  changeOwn(change: (own: OwnStreamPlace | undefined) => OwnStreamPlace): Promise<SessionSettings | undefined> {
    return this.#change((settings) => ({ ...settings, own: change(settings.own) }));
  }

  /** If the store has lost its data, the session goes on at the processes that have it. The first one that changes it puts it back. */
  async #change(change: (settings: SessionSettings) => SessionSettings): Promise<SessionSettings | undefined> {
    let settings = await this.#store.change(this.id, change);
    if (!settings && (await this.#putBack())) settings = await this.#store.change(this.id, change);
    if (settings) this.#keep(settings);
    return settings;
  }

  /** Returns whether the store has the session again. It goes on without it if there is no room. */
  async #putBack(): Promise<boolean> {
    if (!this.#record) return false;
    try {
      await this.#store.put(this.id, this.#record);
      return true;
    } catch (error) {
      if (error instanceof SessionStoreFull) return false;
      throw error;
    }
  }

  /** Another process has stored these changes. */
  changedElsewhere(changes: readonly Setting[]): void {
    if (this.#record) this.#keep(changed(this.#record, changes));
  }

  #keep(settings: SessionSettings): void {
    if (this.#record) this.#record = { ...this.#record, ...settings };
  }

  /** A request came, which may change the record. */
  expect(request: Request): void {
    const change = settingOf(request);
    if (change) (this.#changes ??= new Map()).set(request.id, change);
  }

  /** What a request changes, once. */
  changeBy(id: RequestId): Setting | undefined {
    const change = this.#changes?.get(id);
    if (change) this.#changes!.delete(id);
    return change;
  }

  /** Stores what a request has changed, and tells other processes. Returns the response that its client gets. */
  async store(change: Setting, response: Response, tell: Tell, onerror: (error: Error) => void): Promise<Response> {
    if ('error' in response) return response;
    this.#waiting.push(change);
    const failure = await (this.#nextWrite ??= this.#writeNext(tell, onerror));
    if (failure === undefined) return response;
    return errorResponse(response.id, { code: ErrorCode.InternalError, message: failure });
  }

  /**
   * One session may have thousands of requests in flight. What they change while a write is in flight is the next write.
   * So other processes hear of the changes in the order in which they were stored.
   */
  async #writeNext(tell: Tell, onerror: (error: Error) => void): Promise<string | undefined> {
    await this.#write;
    const changes = this.#waiting;
    this.#waiting = [];
    this.#nextWrite = undefined;
    let failure = NOT_STORED;
    const write = async (): Promise<string | undefined> => {
      try {
        const settings = await this.#change((former) => changed(former, changes));
        if (!settings) throw new Error('The session is not in the store');
        failure = NOT_TOLD;
        await tell(changes);
        return undefined;
      } catch (error) {
        onerror(error as Error);
        return failure;
      }
    };
    return (this.#write = write());
  }

  /**
   * Ends the streams of calls whose process has ended, because their handlers have ended with it.
   *
   * @param shared if set, the streams of processes that are alive go on.
   */
  async endLostStreams(log: EventLog, shared: SharedStore | undefined): Promise<void> {
    for (const { stream } of await log.unfinished(this.id)) await this.endIfLost(log, shared, stream);
  }

  /** Ends a stream unless another process goes on with it. Returns whether it has ended. */
  async endIfLost(log: EventLog, shared: SharedStore | undefined, stream: StreamId): Promise<boolean> {
    if (shared && (await isWritten(stream, shared))) return false;
    await log.end(this.id, stream, LOST);
    return true;
  }

  end(): Promise<void> {
    this.#record = undefined;
    return this.#store.delete(this.id);
  }
}
