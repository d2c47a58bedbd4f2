import type { Exchange } from '../core/exchange.ts';
import { needsInput } from '../core/rounds.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { GetPromptResult, PromptMessage } from '../protocol/types.ts';
import type { Completer, Completers } from './completion.ts';
import { promptResult } from './content.ts';
import { Context } from './context.ts';
import { invalidParams } from './handler-errors.ts';
import type { InputRequiredResult } from './input-required.ts';
import { compact, Registry, type EntryConfig, type Registered, type RegistryOptions } from './registry.ts';

/** An argument of a prompt. */
export interface PromptArgumentConfig {
  title?: string | undefined;
  description?: string | undefined;
  /** Default false. */
  required?: boolean | undefined;
  /** Suggests values. Default: no suggestions. */
  complete?: Completer | undefined;
  /** Refuses schemas: the values of arguments are always strings. */
  '~standard'?: 'Write { description, required }: the value of an argument is always a string';
}

/** The arguments of a prompt, by name. */
export type PromptArguments = Readonly<Record<string, PromptArgumentConfig>>;

/** A prompt as lists show it, and the scopes that it needs. */
export interface PromptConfig<A extends PromptArguments = PromptArguments> extends EntryConfig {
  /** Default: none. */
  arguments?: A | undefined;
}

/** A string becomes one user message. `inputRequired` asks the caller a question first. */
export type PromptReply = string | PromptMessage[] | GetPromptResult | InputRequiredResult;

/** The values of a prompt's arguments: always strings, undefined if the caller left an optional one out. */
export type PromptValues<A extends PromptArguments> = {
  [K in keyof A]: A[K] extends { required: true } ? string : string | undefined;
};

/** Builds a prompt from its arguments. A `UserError` reaches the caller with code −32602, and an `RpcError` with its own. */
export type PromptHandler<A extends PromptArguments> = (
  args: PromptValues<A>,
  ctx: Context,
) => PromptReply | Promise<PromptReply>;

interface PromptEntry {
  readonly name: string;
  readonly definition: JsonObject;
  readonly required: readonly string[];
  readonly completers: Completers;
  readonly handler: (args: any, ctx: Context) => unknown;
}

const NO_SCHEMA = 'must be described as { description, required }, not by a schema: its value is always a string';

/** The prompts of a server: `prompts/list` and `prompts/get`. */
export class Prompts {
  readonly registry: Registry<PromptConfig, PromptEntry>;

  constructor(options: Pick<RegistryOptions, 'pageSize' | 'cache' | 'changed'>) {
    this.registry = new Registry({ ...options, kind: 'Prompt', list: 'prompts' });
  }

  add(name: string, config: PromptConfig, handler: PromptEntry['handler']): Registered<PromptConfig> {
    return this.registry.add(name, config, ({ arguments: declared = {}, ...shown }) => {
      const completers = new Map<string, Completer>();
      if ('~standard' in declared) throw new TypeError(`Prompt ${name}: arguments ${NO_SCHEMA}`);
      const listed = Object.entries(declared).map(([argument, settings]) => {
        if (!isObject(settings) || '~standard' in settings)
          throw new TypeError(`Prompt ${name}: the argument ${argument} ${NO_SCHEMA}`);
        const { complete, ...about } = settings;
        if (complete !== undefined) completers.set(argument, complete);
        return compact({ name: argument, ...about });
      });
      return {
        name,
        definition: compact({ name, ...shown, arguments: listed.length > 0 ? listed : undefined }),
        required: Object.keys(declared).filter((argument) => declared[argument]?.required),
        completers,
        handler,
      };
    });
  }

  /**
   * @throws RpcError −32602 if the prompt is unknown, a required argument is missing, or the handler throws a `UserError`
   * (2025-11-25, server/prompts: Error Handling); −32600 if the caller lacks a scope that the prompt needs; and the
   * handler's other errors.
   */
  async get(exchange: Exchange): Promise<JsonObject> {
    const { entry: prompt, args } = this.registry.requested(exchange);
    const { name } = prompt;
    for (const [argument, value] of Object.entries(args)) {
      if (typeof value !== 'string')
        throw new RpcError(ErrorCode.InvalidParams, `Argument ${argument} of prompt ${name} must be a string`);
    }
    for (const argument of prompt.required) {
      if (!Object.hasOwn(args, argument))
        throw new RpcError(ErrorCode.InvalidParams, `Prompt ${name} needs the argument ${argument}`);
    }
    const reply = await invalidParams(() => prompt.handler(args, new Context(exchange)));
    return needsInput(reply) ? reply : promptResult(reply, name, prompt.definition['description']);
  }
}
