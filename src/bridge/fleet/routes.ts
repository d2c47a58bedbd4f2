import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { PROMPTS, TEMPLATES, type ListKind } from './kinds.ts';
import { awakeOf, isSilent, SHORT_PATIENCE, type FleetMember, type Members } from './members.ts';
import { isShortened } from './names.ts';
import { splitState, splitTaskId } from './tasks.ts';
import { unwrapUri } from './uris.ts';
import type { View } from './view.ts';

/** A server, and the parameters that it is to be asked with. */
export interface Route {
  readonly member: FleetMember;
  readonly params: JsonObject;
}

/** A server, and its own name for something. */
interface Found {
  readonly member: FleetMember;
  readonly name: string;
}

/** Finds the server that a request is for. */
export class Routes {
  readonly #members: Members;

  constructor(members: Members) {
    this.#members = members;
  }

  /**
   * Where a request that names a tool or a prompt leads, as far as that is known without asking any server.
   *
   * @returns undefined where it is not.
   */
  known(kind: ListKind, { params }: Exchange, view: View): Route | undefined {
    const { name, requestState } = params;
    if (typeof name !== 'string' || requestState !== undefined) return undefined;
    const found =
      this.#direct(kind, name, view) ?? (view.isLoaded(kind) ? only(this.#inward(kind, name, view)) : undefined);
    return found && { member: found.member, params: { ...params, name: found.name } };
  }

  /**
   * Where a request that names a tool or a prompt leads.
   *
   * @throws RpcError −32602 where it leads nowhere, or to several.
   */
  async named(kind: ListKind, exchange: Exchange, view: View): Promise<Route> {
    const { params } = exchange;
    const { name } = params;
    if (typeof name !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"name" must be a string');
    const asked = this.#asked(params);
    const found = await this.#find(kind, name, exchange, view, asked?.member);
    return { member: found.member, params: { ...withState(params, asked), name: found.name } };
  }

  /**
   * Where a request that names a resource may lead: more than one where nothing tells whose it is.
   *
   * @throws RpcError −32602 where it leads nowhere.
   */
  async resource(exchange: Exchange, view: View): Promise<Route[]> {
    const { params } = exchange;
    const { uri } = params;
    if (typeof uri !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"uri" must be a string');
    const asked = this.#asked(params);
    const owners = await this.ownersOf(uri, exchange, view);
    const own = asked ? [{ member: asked.member, uri: owners.find(isOf(asked.member))?.uri ?? uri }] : owners;
    if (own.length === 0) throw new RpcError(ErrorCode.InvalidParams, `Resource not found: ${uri}`);
    return own.map(({ member, uri: inner }) => ({ member, params: { ...withState(params, asked), uri: inner } }));
  }

  /** The servers that a URI may be of, each with what it is there. */
  async ownersOf(uri: string, exchange: Exchange, view: View): Promise<{ member: FleetMember; uri: string }[]> {
    const wrapped = this.#unwrap(uri);
    if (wrapped) return [wrapped];
    const table = await view.loadUris(exchange);
    return this.#membersOf(table.owners(uri)).map((member) => ({ member, uri }));
  }

  /**
   * Where a completion may lead.
   *
   * @throws RpcError −32602 where it leads nowhere.
   */
  async completion(exchange: Exchange, view: View): Promise<Route[]> {
    const { params } = exchange;
    const ref: JsonObject = isObject(params['ref']) ? params['ref'] : {};
    if (ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') {
      const { member, name } = await this.#find(PROMPTS, ref['name'], exchange, view);
      return [{ member, params: { ...params, ref: { ...ref, name } } }];
    }
    const { uri } = ref;
    if (ref['type'] !== 'ref/resource' || typeof uri !== 'string') {
      throw new RpcError(ErrorCode.InvalidParams, '"ref" must be of a prompt by its name, or of a resource by its uri');
    }
    const wrapped = this.#unwrap(uri);
    if (wrapped) return [{ member: wrapped.member, params: { ...params, ref: { ...ref, uri: wrapped.uri } } }];
    const several = view.capabilities.having(TEMPLATES.capability).length > 1;
    if (several) await view.loadUris(exchange);
    const owners = this.#membersOf(view.uris().ownersOfTemplate(uri));
    if (owners.length === 0) throw new RpcError(ErrorCode.InvalidParams, `Unknown reference: ${uri}`);
    return owners.map((member) => ({ member, params }));
  }

  /** Where a request leads that names a task; undefined where it names none of ours. */
  task(params: JsonObject): Route | undefined {
    const split = splitTaskId(params['taskId']);
    const member = split && this.#members.withLabel(split.label);
    return member && { member, params: { ...params, taskId: split.id } };
  }

  /** Where a retry leads, by what its caller carries. @throws RpcError −32602 where that is of no server here. */
  #asked({ requestState }: JsonObject): { member: FleetMember; state: string | undefined } | undefined {
    if (requestState === undefined) return undefined;
    const split = splitState(requestState);
    const member = split && this.#members.withLabel(split.label);
    if (member) return { member, state: split.state };
    throw new RpcError(ErrorCode.InvalidParams, '"requestState" is of no server that is here; call again without it');
  }

  async #find(kind: ListKind, name: string, exchange: Exchange, view: View, whose?: FleetMember): Promise<Found> {
    const direct = this.#direct(kind, name, view);
    if (direct) return direct;
    const { naming } = this.#members;
    const split = naming.split(name);
    // The lists of others say nothing of a name with its server's before it.
    const having = view.capabilities.having(kind.capability);
    const candidates = split ? having.filter((member) => member.name === split.member) : having;
    if (!split && whose) return this.#inward(kind, name, view).find(isOf(whose)) ?? { member: whose, name };
    if (split || !naming.always) {
      // Who calls what is there does not wait for one that is down, and not long for one that may be.
      const awake = awakeOf(candidates, kind);
      const all = await view.await(kind, exchange, awake, SHORT_PATIENCE);
      let found = this.#inward(kind, name, view);
      if (found.length === 0 && !all) {
        await view.await(kind, exchange, awake);
        found = this.#inward(kind, name, view);
      }
      if (found.length === 0 && (view.doubt(kind) || awake.length < candidates.length)) {
        await view.await(kind, exchange, candidates);
        found = this.#inward(kind, name, view);
      }
      const own = whose ? found.filter(isOf(whose)) : found;
      if (own.length === 1) return own[0]!;
      if (own.length > 1) throw ambiguous(kind, name, own, (each) => naming.prefixed(each.member.name, each.name));
    }
    throw this.#unknown(kind, name, candidates);
  }

  /** Whose a name is that says so, or that of the only server. */
  #direct(kind: ListKind, name: string, view: View): Found | undefined {
    const { naming } = this.#members;
    const split = naming.split(name);
    if (split) {
      const member = isShortened(split.part) ? undefined : this.#members.get(split.member);
      return member && { member, name: split.part };
    }
    const [one, ...others] = view.capabilities.having(kind.capability);
    // With one server there is nobody to compare with.
    return one && others.length === 0 && !naming.always && !isShortened(name) ? { member: one, name } : undefined;
  }

  #inward(kind: ListKind, name: string, view: View): Found[] {
    return view
      .names(kind)
      .inward(name)
      .flatMap((found) => {
        const member = this.#members.get(found.member);
        return member ? [{ member, name: found.name }] : [];
      });
  }

  #unwrap(uri: string): { member: FleetMember; uri: string } | undefined {
    const unwrapped = unwrapUri(uri);
    const member = unwrapped && this.#members.withLabel(unwrapped.label);
    return member && { member, uri: unwrapped.uri };
  }

  #membersOf(names: readonly string[]): FleetMember[] {
    return names.flatMap((name) => this.#members.get(name) ?? []);
  }

  #unknown(kind: ListKind, name: string, asked: readonly FleetMember[]): RpcError {
    const down = asked.filter((member) => isSilent(member, kind)).map((member) => member.name);
    const why = down.length === 0 ? '' : ` (${down.join(', ')} did not answer)`;
    return new RpcError(ErrorCode.InvalidParams, `Unknown ${nounOf(kind)}: ${name}${why}`);
  }
}

function only<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}

function isOf(member: FleetMember): (each: { readonly member: FleetMember }) => boolean {
  return (each) => each.member === member;
}

/** The parameters with the state that the server gave, byte for byte. */
function withState(params: JsonObject, asked: { readonly state: string | undefined } | undefined): JsonObject {
  if (!asked) return params;
  const { requestState: _, ...rest } = params;
  return asked.state === undefined ? rest : { ...rest, requestState: asked.state };
}

function nounOf(kind: ListKind): string {
  return kind === PROMPTS ? 'prompt' : 'tool';
}

function ambiguous<T>(kind: ListKind, name: string, found: readonly T[], write: (each: T) => string): RpcError {
  const names = found.map(write).join(' or ');
  return new RpcError(
    ErrorCode.InvalidParams,
    `Unknown ${nounOf(kind)}: ${name}; several servers have one, ask for ${names}`,
  );
}
