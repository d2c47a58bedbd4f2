import { createHash, randomBytes } from 'node:crypto';
import { ErrorCode } from '../../../../jsonrpc/errors.ts';
import {
  errorResponse,
  type JsonObject,
  type Request,
  type RequestId,
  type Response,
} from '../../../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../../../jsonrpc/pending.ts';
import { Method } from '../../../../protocol/methods.ts';
import type { EventLog, SessionId } from '../../../../store/event-log.ts';
import type { SessionRecord, SessionStore } from '../../../../store/session-store.ts';

/** What a request changes in the record of its session, once it has succeeded. */
export type RecordChange = (record: SessionRecord) => SessionRecord;

/** The name of a session in a store. Whoever can read the store cannot use the session. */
export function storedIdOf(sessionId: string): SessionId {
  return createHash('sha256').update('everwire-session').update(sessionId).digest('base64url');
}

/** Undefined if the request changes nothing that a session keeps. */
function changeOf({ method, params = {} }: Request): RecordChange | undefined {
  const { level, uri } = params;
  switch (method) {
    case Method.SetLevel:
      return typeof level === 'string' ? (record) => ({ ...record, logLevel: level }) : undefined;
    case Method.Subscribe:
      return typeof uri === 'string' ? (record) => withResources(record, uri, true) : undefined;
    case Method.Unsubscribe:
      return typeof uri === 'string' ? (record) => withResources(record, uri, false) : undefined;
    default:
      return undefined;
  }
}

function withResources(record: SessionRecord, uri: string, subscribed: boolean): SessionRecord {
  const others = (record.resources ?? []).filter((other) => other !== uri);
  return { ...record, resources: subscribed ? [...others, uri] : others };
}

/**
 * The requests that bring a server to the state in which a former process left it. Their ids are unlike those of any
 * client.
 */
export function replayOf({ logLevel, resources = [] }: SessionRecord): Request[] {
  const prefix = `replayed-${randomBytes(8).toString('hex')}`;
  const requests: (readonly [method: string, params: JsonObject])[] = [];
  if (logLevel !== undefined) requests.push([Method.SetLevel, { level: logLevel }]);
  for (const uri of resources) requests.push([Method.Subscribe, { uri }]);
  return requests.map(([method, params], index) => ({ jsonrpc: '2.0', id: `${prefix}-${index}`, method, params }));
}

/** One session in a store: what a former process has left of it, and what this one changes. */
export class StoredSession {
  readonly id: SessionId;
  readonly #store: SessionStore;
  /** What is stored when the session is open. */
  #record: SessionRecord | undefined;
  /** What requests in flight will change, by their ids. */
  #changes: Map<RequestId, RecordChange> | undefined;

  constructor(store: SessionStore, id: SessionId) {
    this.#store = store;
    this.id = id;
  }

  /** The client has sent `initialize`. */
  begin(principal: string | undefined, initialize: JsonObject): void {
    const { protocolVersion, capabilities, clientInfo } = initialize;
    // Each change of the record writes it again, and nothing else in it can be used again.
    const kept = { protocolVersion, capabilities, clientInfo };
    this.#record = { ...(principal === undefined ? {} : { principal }), initialize: kept };
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
  changeBy(id: RequestId): RecordChange | undefined {
    const change = this.#changes?.get(id);
    if (change) this.#changes!.delete(id);
    return change;
  }

  /** Stores what a request has changed. Returns the response that its client gets. */
  async store(change: RecordChange, response: Response, onerror: (error: Error) => void): Promise<Response> {
    if ('error' in response) return response;
    try {
      if (!(await this.#store.change(this.id, change))) throw new Error('The session is not in the store');
      return response;
    } catch (error) {
      onerror(error as Error);
      const message = 'The change was made, but could not be stored: it ends with the process';
      return errorResponse(response.id, { code: ErrorCode.InternalError, message });
    }
  }

  /** The handlers of the former process are gone, so the calls that it has not answered get an error. */
  async endFormerStreams(log: EventLog): Promise<void> {
    const message = 'The server was restarted before this was done; it may have been done in part';
    for (const { stream, requests } of await log.unfinished(this.id)) {
      for (const id of requests)
        await log.append(this.id, stream, errorResponse(id, { code: CONNECTION_CLOSED, message }));
      await log.end(this.id, stream);
    }
  }

  end(): Promise<void> {
    return this.#store.delete(this.id);
  }
}
