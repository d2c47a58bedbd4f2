import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, isRequest, type JsonObject, type Notification, type Request } from '../jsonrpc/message.ts';
import { canonicalJson, without } from '../jsonrpc/shape.ts';
import { Method } from '../protocol/methods.ts';
import type { Revision } from '../protocol/revisions.ts';
import { beginning, describeDifferences, differences, type Difference } from './difference.ts';
import type { RecordedCall } from './recorded-call.ts';
import { wrongRevision } from './wrong-revision.ts';

/** Requests that open a connection. What they say is about the client, so it does not matter for the answer. */
const OPENING: ReadonlySet<string> = new Set([Method.Initialize, Method.Discover]);

/** How much is compared to find the call that is nearest to a request, in UTF-16 code units of canonical JSON. */
const MAX_WORK = 512 * 1024;

/** All calls of a recording, to be looked up. Calls with the same content are in the order of the recording. */
export class RecordedCalls {
  readonly #all: readonly RecordedCall[];
  readonly #byContent = new Map<string, RecordedCall[]>();
  /** The length of the key of each call. */
  readonly #sizes = new Map<RecordedCall, number>();
  readonly #revisions: readonly Revision[];

  constructor(calls: readonly RecordedCall[]) {
    this.#all = calls;
    const answered = calls.filter(({ steps }) => steps.some(({ message }) => 'result' in message));
    this.#revisions = [...new Set(answered.map(({ revision }) => revision))].toSorted();
    for (const call of calls) {
      const key = keyOf(call.message, call.revision);
      this.#sizes.set(call, key.length);
      const same = this.#byContent.get(key);
      if (same) same.push(call);
      else this.#byContent.set(key, [call]);
    }
  }

  /** Whether there is a session with a handshake. */
  get hasHandshake(): boolean {
    return this.get(Method.Initialize).length > 0;
  }

  /** The revisions in which the server answered a request with a result. */
  get revisions(): readonly Revision[] {
    return this.#revisions;
  }

  /** The calls with this content. */
  get(key: string): readonly RecordedCall[] {
    return this.#byContent.get(key) ?? [];
  }

  /** The calls of a method in a revision. */
  ofMethod(method: string, revision: Revision | undefined): RecordedCall[] {
    return this.#all.filter((call) => call.message.method === method && call.revision === revision);
  }

  /** How large the content of a call is, in UTF-16 code units of canonical JSON. */
  sizeOf(call: RecordedCall): number {
    return this.#sizes.get(call)!;
  }

  /** The `initialize` of a client that asked for this version, or else the first one. */
  handshake(version: unknown): RecordedCall | undefined {
    const all = this.get(Method.Initialize);
    return all.find(({ message }) => message.params?.['protocolVersion'] === version) ?? all[0];
  }
}

/** Calls with equal keys have the same content. `_meta` is about the client and the transport, so it is left out. */
function keyOf({ method, params = {} }: Request | Notification, revision: Revision | undefined): string {
  if (method === Method.Initialize) return method;
  return OPENING.has(method) ? `${revision} ${method}` : `${revision} ${method} ${canonicalJson(contentOf(params))}`;
}

function contentOf(params: JsonObject): JsonObject {
  return without(params, ['_meta']);
}

/** What the mock found for a message: a recorded call, or why there is none. */
export type Found = { readonly call: RecordedCall } | { readonly miss: RpcError; readonly nearest?: RecordedCall };

/**
 * Finds the recorded call for each message of one client. The n-th message with the same content gets the n-th call.
 * After the last one, a request gets the last call again.
 */
export class CallOrder {
  readonly #calls: RecordedCalls;
  readonly #lenient: boolean;
  readonly #used = new Map<string, number>();

  /** @param lenient whether the nearest call with the same method and name serves for other content. */
  constructor(calls: RecordedCalls, lenient: boolean) {
    this.#calls = calls;
    this.#lenient = lenient;
  }

  /** @returns undefined for a notification that is not in the recording, or was sent more often than there. */
  find(message: Request | Notification, revision: Revision | undefined): Found | undefined {
    const { method, params = {} } = message;
    if (method === Method.Initialize && isRequest(message)) {
      const call = this.#calls.handshake(params['protocolVersion']);
      return call ? { call } : this.#miss(message, revision, 0);
    }
    const key = keyOf(message, revision);
    const same = this.#calls.get(key);
    const used = this.#used.get(key) ?? 0;
    if (!isRequest(message)) {
      if (used >= same.length) return undefined;
      this.#used.set(key, used + 1);
      return { call: same[used]! };
    }
    if (same.length === 0) return this.#miss(message, revision, key.length);
    this.#used.set(key, Math.min(used + 1, same.length));
    return { call: same[Math.min(used, same.length - 1)]! };
  }

  /** @param size of the content of the message, in UTF-16 code units of canonical JSON. */
  #miss(sent: Request, revision: Revision | undefined, size: number): Found {
    const wrong = wrongRevision(sent, this.#calls.revisions);
    if (wrong) return { miss: wrong };
    const { method, params = {} } = sent;
    const calls = this.#calls.ofMethod(method, revision);
    if (calls.length === 0)
      return {
        miss: new RpcError(ErrorCode.MethodNotFound, `Method not found: ${beginning(method)} is not in the recording`),
      };
    const target = targetOf(params);
    const same = calls.filter(({ message }) => targetOf(message.params ?? {}) === target);
    const nearest = this.#nearest(same.length > 0 ? same : calls, params, size);
    if (this.#lenient) {
      if (nearest && !nearest.found.some(({ path }) => isTarget(path))) return { call: nearest.call };
      if (!nearest && target !== undefined && same[0]) return { call: same[0] };
    }
    const what = [method, target].flatMap((each) => (each === undefined ? [] : beginning(each))).join(' ');
    const why = nearest
      ? `${what} is not in the recording with these parameters. Record ${nearest.call.n} is the nearest, but ${describeDifferences(nearest.found)}`
      : `${what} is not in the recording with these parameters, which are too large to look for the nearest record`;
    return { miss: new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`), nearest: nearest?.call };
  }

  /** The call whose content differs in the fewest places. Undefined if there is too much to compare. */
  #nearest(calls: readonly RecordedCall[], params: JsonObject, size: number): Compared | undefined {
    const content = contentOf(params);
    let work = 0;
    let nearest: Compared | undefined;
    for (const call of calls) {
      work += size + this.#calls.sizeOf(call);
      if (work > MAX_WORK) break;
      const found = differences(contentOf(call.message.params ?? {}), content);
      if (!nearest || rank(found) < rank(nearest.found)) nearest = { call, found };
    }
    return nearest;
  }
}

/** A call, and where the content of a request differs from its own. */
interface Compared {
  readonly call: RecordedCall;
  readonly found: Difference[];
}

/** A call of another tool, prompt or resource is further away than any with other arguments. */
function rank(found: readonly Difference[]): number {
  return found.length + (found.some(({ path }) => isTarget(path)) ? 1000 : 0);
}

function isTarget(path: string): boolean {
  return path === 'name' || path === 'uri' || path === 'taskId' || path.startsWith('ref.');
}

function targetOf(params: JsonObject): string | undefined {
  const target: unknown = params['name'] ?? params['uri'] ?? params['taskId'];
  return isObject(target) || typeof target !== 'string' ? undefined : target;
}
