import { shortJson } from '../base/short-text.ts';
import type { Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, isStrings, type JsonObject } from '../jsonrpc/message.ts';
import { Context } from './context.ts';

/** The context that a completer gets in addition to the value typed so far. */
export class CompletionContext extends Context {
  /** The arguments that already have a value (2025-06-18 and later). */
  readonly arguments: Readonly<Record<string, string>>;

  constructor(exchange: Exchange, settled: Readonly<Record<string, string>>) {
    super(exchange);
    this.arguments = settled;
  }
}

/**
 * Suggests values for an argument, best first. Either a function of the text typed so far, or a fixed list that is
 * filtered by this text as a prefix. The first 100 are sent.
 */
export type Completer =
  | readonly string[]
  | ((value: string, context: CompletionContext) => readonly string[] | Promise<readonly string[]>);

/** The completers of one prompt or template, by argument. */
export type Completers = ReadonlyMap<string, Completer>;

/** Finds the completers for a reference. Undefined if no prompt or template matches the reference. */
export type FindCompleters = (type: unknown, name: unknown) => Completers | undefined;

/** 2025-11-25, server/utilities/completion: Completion Results. */
const MOST = 100;
/** More arguments than any prompt or template has. */
const MAX_ARGUMENTS = 1000;

/**
 * Answers `completion/complete`. An argument without a completer has no suggestions.
 *
 * @throws RpcError −32602 if the request is malformed or its reference names nothing (2025-11-25,
 * server/utilities/completion: Error Handling).
 */
export async function complete(exchange: Exchange, find: FindCompleters): Promise<JsonObject> {
  const { ref, argument, context } = exchange.params;
  if (!isObject(ref)) throw new RpcError(ErrorCode.InvalidParams, '"ref" must be an object');
  if (!isObject(argument) || typeof argument['name'] !== 'string' || typeof argument['value'] !== 'string') {
    throw new RpcError(ErrorCode.InvalidParams, '"argument" must have a string "name" and a string "value"');
  }
  const name: unknown = ref['type'] === 'ref/prompt' ? ref['name'] : ref['uri'];
  const completers = find(ref['type'], name);
  if (completers === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown reference: ${shortJson(ref)}`);
  const completer = completers.get(argument['name']);
  const settled = isObject(context) && isObject(context['arguments']) ? context['arguments'] : {};
  const given = Object.values(settled);
  if (given.length > MAX_ARGUMENTS) {
    throw new RpcError(ErrorCode.InvalidParams, `"context.arguments" must not have more than ${MAX_ARGUMENTS} members`);
  }
  if (!given.every((value) => typeof value === 'string')) {
    throw new RpcError(ErrorCode.InvalidParams, '"context.arguments" must have string values');
  }
  const values =
    completer === undefined
      ? []
      : await suggest(completer, argument['value'], new CompletionContext(exchange, settled));
  return { completion: { values: values.slice(0, MOST), total: values.length, hasMore: values.length > MOST } };
}

async function suggest(completer: Completer, value: string, context: CompletionContext): Promise<readonly string[]> {
  if (typeof completer !== 'function') return completer.filter((known) => known.startsWith(value));
  const values: unknown = await completer(value, context);
  if (!isStrings(values)) throw new TypeError('a completer must return a list of strings');
  return values;
}
