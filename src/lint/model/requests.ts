import { Oldest } from '../../base/oldest.ts';
import type { JsonObject, RequestId } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';

/** Who sent a message. */
export type Side = 'client' | 'server';

export function otherSide(side: Side): Side {
  return side === 'client' ? 'server' : 'client';
}

/** A request that was seen. */
export interface SeenRequest {
  /** The number of its record. */
  readonly n: number;
  readonly id: RequestId;
  readonly method: string;
  readonly from: Side;
  /** Undefined if its content is not known, and after it was answered. */
  params: JsonObject | undefined;
  readonly revisions: readonly Revision[];
  /** For HTTP: the connection and the exchange, as `conn/exchange`. */
  readonly exchange: string | undefined;
  readonly progressToken: RequestId | undefined;
  /** The tool that it calls, as it was listed then. */
  readonly tool: JsonObject | undefined;
  /** The number of the record that answered it. */
  answered: number | undefined;
  /** The number of the record that cancelled it. */
  cancelled: number | undefined;
  /** The task with which it was answered, whose progress continues. Empty if the task has no id. */
  taskId: string | undefined;
  /** The newest value of its progress. */
  progress: number | undefined;
  /** For `subscriptions/listen`: the filter that the server has accepted. */
  accepted: JsonObject | undefined;
}

/** The most requests of each side that are remembered. */
const MAX_REQUESTS = 1000;
/** The most open requests of each side whose params are kept. */
const MAX_PARAMS = 100;
/** The longest id or token that is remembered, in UTF-16 code units of its JSON. */
const MAX_ID = 1024;

/** The requests of one side in one conversation. */
export class Requests {
  readonly #byId = new Map<string, SeenRequest>();
  readonly #oldest = new Oldest(this.#byId);
  readonly #byToken = new Map<string, SeenRequest>();
  readonly #oldestToken = new Oldest(this.#byToken);
  /** Whether all requests since the beginning are in memory, so that one that is not found was never sent. */
  isComplete = true;

  readonly #withParams: SeenRequest[] = [];

  add(request: SeenRequest): void {
    this.#withParams.push(request);
    if (this.#withParams.length > MAX_PARAMS) this.#withParams.shift()!.params = undefined;
    put(this, this.#byId, this.#oldest, request.id, request);
    if (request.progressToken !== undefined)
      put(this, this.#byToken, this.#oldestToken, request.progressToken, request);
  }

  /** A request was refused before it was read, so it may be sent again. */
  forget(request: SeenRequest): void {
    const { id, progressToken: token } = request;
    if (this.find(id) === request) this.#byId.delete(JSON.stringify(id));
    if (token !== undefined && this.withToken(token) === request) this.#byToken.delete(JSON.stringify(token));
  }

  find(id: unknown): SeenRequest | undefined {
    return this.#byId.get(JSON.stringify(id));
  }

  withToken(token: unknown): SeenRequest | undefined {
    return this.#byToken.get(JSON.stringify(token));
  }

  /** The requests that wait for an answer. */
  *open(): Generator<SeenRequest> {
    for (const request of this.#byId.values()) if (request.answered === undefined) yield request;
  }

  /** Bytes or records are missing: a request that is not known may have been in them, and so may an answer. */
  lose(): void {
    this.#byId.clear();
    this.#byToken.clear();
    this.isComplete = false;
  }
}

function put(
  requests: Requests,
  map: Map<string, SeenRequest>,
  oldest: Oldest<string>,
  id: RequestId,
  request: SeenRequest,
): void {
  const key = JSON.stringify(id);
  if (key.length > MAX_ID) {
    requests.isComplete = false;
    return;
  }
  map.delete(key);
  map.set(key, request);
  if (map.size <= MAX_REQUESTS) return;
  map.delete(oldest.take()!);
  requests.isComplete = false;
}
