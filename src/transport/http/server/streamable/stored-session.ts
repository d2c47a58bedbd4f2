import { createHash, randomBytes } from 'node:crypto';
import { shareOf, type Owner } from '../../../../base/share.ts';
import { ErrorCode } from '../../../../jsonrpc/errors.ts';
import {
  errorResponse,
  type ErrorObject,
  type JsonObject,
  type Request,
  type RequestId,
  type Response,
} from '../../../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../../../jsonrpc/pending.ts';
import { Method } from '../../../../protocol/methods.ts';
import type { EventLog, SessionId, StreamId } from '../../../../store/event-log.ts';
import type { SessionRecord, SessionSettings, SessionStore } from '../../../../store/session-store.ts';
import { isWritten, type SharedStore } from './stream-ids.ts';

/** The error of a call whose process is gone. */
const LOST: ErrorObject = {
  code: CONNECTION_CLOSED,
  message: 'The server was restarted before this was done; it may have been done in part',
};

interface Draft {
  logLevel: string | undefined;
  readonly resources: Set<string>;
}

/** What a request changes in the settings of its session, once it has succeeded. */
export type SettingsChange = (draft: Draft) => void;

/** The name of a session in a store. Whoever can read the store cannot use the session. */
export function storedIdOf(sessionId: string): SessionId {
  return createHash('sha256').update('everwire-session').update(sessionId).digest('base64url');
}

/** The share of a session in a store, without the address or the principal itself. */
function storedShareOf(owner: Owner): string {
  return createHash('sha256').update('everwire-share').update(shareOf(owner)).digest('base64url').slice(0, 22);
}

/** Undefined if the request changes nothing that a session keeps. */
function changeOf({ method, params = {} }: Request): SettingsChange | undefined {
  const { level, uri } = params;
  switch (method) {
    case Method.SetLevel:
      return typeof level === 'string' ? (draft) => void (draft.logLevel = level) : undefined;
    case Method.Subscribe:
      return typeof uri === 'string' ? ({ resources }) => void resources.add(uri) : undefined;
    case Method.Unsubscribe:
      return typeof uri === 'string' ? ({ resources }) => void resources.delete(uri) : undefined;
    default:
      return undefined;
  }
}

function changed(settings: SessionSettings, changes: readonly SettingsChange[]): SessionSettings {
  const draft: Draft = { logLevel: settings.logLevel, resources: new Set(settings.resources) };
  for (const change of changes) change(draft);
  return { logLevel: draft.logLevel, resources: [...draft.resources] };
}

/** The log level that a change sets. */
function levelIn(change: SettingsChange): string | undefined {
  const draft: Draft = { logLevel: undefined, resources: new Set() };
  change(draft);
  return draft.logLevel;
}

/**
 * The requests that bring a server to the state that other processes have stored. Their ids are unlike those of any
 * client.
 */
export function replayOf({ logLevel, resources = [] }: SessionSettings): Request[] {
  const prefix = `replayed-${randomBytes(8).toString('hex')}`;
  const requests: (readonly [method: string, params: JsonObject])[] = [];
  if (logLevel !== undefined) requests.push([Method.SetLevel, { level: logLevel }]);
  for (const uri of resources) requests.push([Method.Subscribe, { uri }]);
  return requests.map(([method, params], index) => ({ jsonrpc: '2.0', id: `${prefix}-${index}`, method, params }));
}

/** One session in a store: what other processes have stored of it, and what this one changes. */
export class StoredSession {
  readonly id: SessionId;
  readonly #store: SessionStore;
  /** What is stored when the session is open. */
  #record: SessionRecord | undefined;
  /** What requests in flight will change, by their ids. */
  #changes: Map<RequestId, SettingsChange> | undefined;
  /** Changes for the next write. */
  #waiting: SettingsChange[] = [];
  #nextWrite: Promise<void> | undefined;
  /** Settles with the write in flight. Never rejects. */
  #write: Promise<void> | undefined;

  constructor(store: SessionStore, id: SessionId) {
    this.#store = store;
    this.id = id;
  }

  /** The client has sent `initialize`. */
  begin(owner: Owner, initialize: JsonObject): void {
    const { protocolVersion, capabilities, clientInfo } = initialize;
    // Nothing else in it can be used again.
    const kept = { protocolVersion, capabilities, clientInfo };
    const { principal } = owner;
    this.#record = { ...(principal === undefined ? {} : { principal }), share: storedShareOf(owner), initialize: kept };
  }

  /** `initialize` has succeeded. Stores a new session. */
  async opened(): Promise<void> {
    const record = this.#record;
    this.#record = undefined;
    if (record) await this.#store.put(this.id, record);
  }

  /** A request came, which may change the record. */
  expect(request: Request): void {
    const change = changeOf(request);
    if (change) (this.#changes ??= new Map()).set(request.id, change);
  }

  /** What a request changes, once. */
  changeBy(id: RequestId): SettingsChange | undefined {
    const change = this.#changes?.get(id);
    if (change) this.#changes!.delete(id);
    return change;
  }

  /**
   * Stores what a request has changed. Returns the response that its client gets.
   *
   * @param tell tells other processes a log level.
   */
  async store(
    change: SettingsChange,
    response: Response,
    tell: (level: string) => Promise<void> | undefined,
    onerror: (error: Error) => void,
  ): Promise<Response> {
    if ('error' in response) return response;
    this.#waiting.push(change);
    try {
      await (this.#nextWrite ??= this.#writeNext(onerror));
    } catch {
      const message =
        'The log level or subscription has changed, but the change could not be stored: it is lost when the server restarts';
      return errorResponse(response.id, { code: ErrorCode.InternalError, message });
    }
    const level = levelIn(change);
    try {
      if (level !== undefined) await tell(level);
      return response;
    } catch (error) {
      onerror(error as Error);
      const message = 'The log level has changed here, but other processes that have the session could not be told';
      return errorResponse(response.id, { code: ErrorCode.InternalError, message });
    }
  }

  /** One session may have thousands of requests in flight. What they change while a write is in flight is the next write. */
  async #writeNext(onerror: (error: Error) => void): Promise<void> {
    await this.#write;
    const changes = this.#waiting;
    this.#waiting = [];
    this.#nextWrite = undefined;
    const written = this.#store
      .change(this.id, (settings) => changed(settings, changes))
      .then((settings) => {
        if (!settings) throw new Error('The session is not in the store');
      });
    this.#write = written.catch(onerror);
    await written;
  }

  /**
   * Ends the streams of calls whose process is gone, because their handlers have ended with it.
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
    return this.#store.delete(this.id);
  }
}
