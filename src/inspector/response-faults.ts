import type { RuleAction } from '../inspect/breakpoints/breakpoint-api.ts';
import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import { isRequestId, isObject, type JsonObject, type RequestId } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';

/** A fault of the response to a request over stdio. */
export type ResponseFault = Extract<RuleAction, { readonly type: 'corrupt' | 'cut' }>;

/** The most responses that are waited for. */
const MAX_EXPECTED = 1000;

/** What the rules say about the response to a request. */
export function faultOf(breakpoints: Breakpoints, message: JsonObject): RuleAction | undefined {
  const { method, params, error, id } = message;
  const name: unknown = isObject(params) ? params['name'] : undefined;
  const isCall = typeof method === 'string';
  return breakpoints.matchResponse({
    kind: isCall ? (id === undefined ? 'notification' : 'request') : error === undefined ? 'result' : 'error',
    method: isCall ? method : '',
    tool: method === Method.CallTool && typeof name === 'string' ? name : undefined,
    content: message,
    text: () => JSON.stringify(message),
  });
}

/** The responses of a stdio connection that get a fault. */
export class ExpectedFaults {
  readonly #breakpoints: Breakpoints;
  readonly #expected = new Map<RequestId, ResponseFault>();

  constructor(breakpoints: Breakpoints) {
    this.#breakpoints = breakpoints;
  }

  /** Whether no response gets a fault. */
  get isEmpty(): boolean {
    return this.#expected.size === 0;
  }

  /** To be called with each message of the client. */
  hear(message: JsonObject): void {
    const { method, id } = message;
    if (!this.#breakpoints.actsOnResponses || typeof method !== 'string' || !isRequestId(id)) return;
    const fault = faultOf(this.#breakpoints, message);
    if (fault?.type !== 'corrupt' && fault?.type !== 'cut') return;
    this.#expected.set(id, fault);
    const [oldest] = this.#expected.keys();
    if (this.#expected.size > MAX_EXPECTED) this.#expected.delete(oldest!);
  }

  /** There will be no response to a request. */
  forget(id: RequestId): void {
    this.#expected.delete(id);
  }

  /** The fault of a message of the server, once. */
  take({ method, id }: JsonObject): ResponseFault | undefined {
    if (method !== undefined || !isRequestId(id)) return undefined;
    const fault = this.#expected.get(id);
    this.#expected.delete(id);
    return fault;
  }
}
