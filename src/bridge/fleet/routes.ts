import { quoting, shortJson, shortText } from '../../base/short-text.ts';
import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { put } from '../../jsonrpc/shape.ts';
import { isWrapped, splitState, splitTaskId, unwrapUri } from './ids.ts';
import { PROMPTS, type ListKind } from './kinds.ts';
import type { FleetMember, Members } from './members.ts';
import { readPage } from './page.ts';

/** A server, and the parameters for the request to it. */
export interface Route {
  readonly member: FleetMember;
  readonly params: JsonObject;
}

/** The most pages that are read to find the full name of a shortened one. */
const MAX_PAGES = 100;
/** The most servers that an error names. */
const MAX_NAMED = 20;

/** Finds the server for a request, from the request's content. */
export class Routes {
  readonly #members: Members;

  constructor(members: Members) {
    this.#members = members;
  }

  /** The server for a tool or prompt request. @throws RpcError −32602 if there is none. */
  async named(kind: ListKind, exchange: Exchange): Promise<Route> {
    const { params } = exchange;
    if (typeof params['name'] !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"name" must be a string');
    const { member, name } = await this.#find(kind, params['name'], exchange);
    return { member, params: put(this.#withOwnState(params, member), 'name', name) };
  }

  /**
   * The possible servers for a resource request: the one that the URI names, or the one that asked a question in the
   * last round. If there is neither, all servers.
   *
   * @throws RpcError −32602 if there is none.
   */
  resource({ params }: Exchange): Route[] {
    const { uri } = params;
    if (typeof uri !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"uri" must be a string');
    const wrapped = this.#unwrap(uri);
    const member = wrapped?.member ?? this.#askedBy(params)?.member;
    const routes = member ? [member] : this.#inOrder();
    if (routes.length === 0) throw new RpcError(ErrorCode.InvalidParams, quoting`Resource not found: ${uri}`);
    return routes.map((each) => ({ member: each, params: put(this.#withOwnState(params, each), 'uri', wrapped?.uri) }));
  }

  /** The possible servers for a completion, as in `named` and `resource`. */
  async completion(exchange: Exchange): Promise<Route[]> {
    const { params } = exchange;
    const ref: JsonObject = isObject(params['ref']) ? params['ref'] : {};
    if (ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') {
      const { member, name } = await this.#find(PROMPTS, ref['name'], exchange);
      return [{ member, params: { ...params, ref: { ...ref, name } } }];
    }
    const { uri } = ref;
    if (ref['type'] !== 'ref/resource' || typeof uri !== 'string')
      throw new RpcError(ErrorCode.InvalidParams, '"ref" must have the name of a prompt, or the uri of a resource');
    const wrapped = this.#unwrap(uri);
    return wrapped
      ? [{ member: wrapped.member, params: { ...params, ref: { ...ref, uri: wrapped.uri } } }]
      : this.everywhere(params);
  }

  /** The server for a task request. @throws RpcError −32602 if there is none. */
  task(params: JsonObject): Route {
    const split = splitTaskId(params['taskId']);
    const member = split && this.#members.withLabel(split.label);
    if (member) return { member, params: { ...params, taskId: split.id } };
    // Not sent to any server: one of them may have a task with the same id.
    const message = `Task not found: ${shortJson(params['taskId'])} does not begin with the name of a known server`;
    throw new RpcError(ErrorCode.InvalidParams, message);
  }

  everywhere(params: JsonObject): Route[] {
    return this.#inOrder().map((member) => ({ member, params }));
  }

  /** All servers in the order of the configuration. Servers that did not respond to their last request come last. */
  #inOrder(): FleetMember[] {
    return [...this.#members].toSorted((one, other) => Number(one.down) - Number(other.down));
  }

  async #find(kind: ListKind, name: string, exchange: Exchange): Promise<{ member: FleetMember; name: string }> {
    const found = this.#members.naming.inward(kind, name);
    const member = found && this.#members.get(found.server);
    if (!member) throw this.#unknown(kind, name);
    if (!found.shortened) return { member, name: found.name };
    const own = member.ownName(found.name) ?? (await this.#lookUp(kind, member, found.name, exchange));
    if (own === undefined) throw this.#unknown(kind, name);
    return { member, name: own };
  }

  /** Finds the full name for a shortened one in a server's list. @throws RpcError if the list cannot be read. */
  async #lookUp(kind: ListKind, member: FleetMember, part: string, exchange: Exchange): Promise<string | undefined> {
    let cursor: string | undefined;
    for (let count = 0; count < MAX_PAGES; count += 1) {
      const { entries, next } = await readPage(member, kind, exchange, cursor);
      for (const entry of entries) {
        const own = entry[kind.id] as string;
        if (this.#members.naming.behindPrefix(member.name, own) !== part) continue;
        member.remember(part, own);
        return own;
      }
      if (next === undefined) return undefined;
      cursor = next;
    }
    return undefined;
  }

  /** The server that a URI names. Undefined if it names none. @throws RpcError −32602 if that server is not here. */
  #unwrap(uri: string): { readonly member: FleetMember; readonly uri: string } | undefined {
    const unwrapped = unwrapUri(uri);
    const member = unwrapped && this.#members.withLabel(unwrapped.label);
    if (member) return { member, uri: unwrapped.uri };
    // Not sent to any server. But a single server may be a fleet itself.
    if (isWrapped(uri) && !this.#members.naming.bare)
      throw new RpcError(ErrorCode.InvalidParams, quoting`Resource not found: ${uri} does not name a known server`);
    return undefined;
  }

  /**
   * The server that asked a question in the last round of a request, and the parameters with its own state.
   *
   * @throws RpcError −32602 if it no longer exists.
   */
  #askedBy({ requestState, ...params }: JsonObject): Route | undefined {
    if (requestState === undefined) return undefined;
    const split = splitState(requestState);
    const member = split && this.#members.withLabel(split.label);
    if (member) return { member, params: put(params, 'requestState', split.state) };
    throw new RpcError(
      ErrorCode.InvalidParams,
      '"requestState" belongs to no server of this fleet; call again without it',
    );
  }

  /** The parameters with the server's original state. @throws RpcError −32602 if the state is another server's. */
  #withOwnState(params: JsonObject, member: FleetMember): JsonObject {
    const asked = this.#askedBy(params);
    if (!asked) return params;
    if (asked.member === member) return asked.params;
    throw new RpcError(ErrorCode.InvalidParams, '"requestState" belongs to another server; call again without it');
  }

  #unknown(kind: ListKind, name: string): RpcError {
    const { prefixes } = this.#members.naming;
    const some = prefixes.slice(0, MAX_NAMED).join(', ') + (prefixes.length > MAX_NAMED ? ' and others' : '');
    const noun = kind === PROMPTS ? 'prompt' : 'tool';
    const why = prefixes.length === 0 ? 'there are no servers' : `a name begins with the name of its server: ${some}`;
    return new RpcError(ErrorCode.InvalidParams, `Unknown ${noun}: ${shortText(name)} (${why})`);
  }
}
