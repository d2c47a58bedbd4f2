import { quoting } from '../base/short-text.ts';
import type { Caller, Exchange } from '../core/exchange.ts';
import { needsInput } from '../core/rounds.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Annotations, ReadResourceResult, Resource, ResourceContents } from '../protocol/types.ts';
import type { Completer, Completers } from './completion.ts';
import { resourceResult } from './content.ts';
import { Context } from './context.ts';
import { page } from './pages.ts';
import { invalidParams } from './handler-errors.ts';
import type { InputRequiredResult } from './input-required.ts';
import { cacheHints, type CacheHints } from './cache-hints.ts';
import { compact, Registry, type EntryConfig, type Registered, type RegistryOptions } from './registry.ts';
import { UriTemplate, type TemplateVariables } from './uri-template.ts';

/** A resource. `ttlMs` and `cacheScope` apply to its contents (2026-07-28, server/utilities/caching). */
export interface ResourceConfig extends EntryConfig, CacheHints {
  name: string;
  /** Also the MIME type of contents that a handler returns as a plain string or bytes. */
  mimeType?: string | undefined;
  /** In bytes. */
  size?: number | undefined;
  annotations?: Annotations | undefined;
}

/** The resources of one URI template. `ttlMs` and `cacheScope` apply to their contents. */
export interface TemplateConfig<T extends string = string> extends Omit<ResourceConfig, 'size'> {
  /** Suggests values for variables. */
  complete?: { readonly [K in keyof TemplateVariables<T>]?: Completer } | undefined;
  /**
   * Lists the template's resources. `resources/list` shows them after the fixed resources. What an entry leaves out, such as
   * `mimeType` or `description`, it gets from the template.
   */
  list?: ((ctx: Context) => readonly Resource[] | Promise<readonly Resource[]>) | undefined;
}

/**
 * Text, bytes, contents, or a whole result. `undefined` means that the resource does not exist. `inputRequired` asks
 * the caller a question first.
 */
export type ResourceReply =
  | string
  | Uint8Array
  | ResourceContents
  | ResourceContents[]
  | ReadResourceResult
  | InputRequiredResult
  | undefined;

/** Reads a resource. A `UserError` reaches the caller with code −32602, and an `RpcError` with its own. */
export type ResourceHandler = (uri: string, ctx: Context) => ResourceReply | Promise<ResourceReply>;

/** Reads a resource of a template. The variables are decoded. Errors work as in a `ResourceHandler`. */
export type TemplateHandler<T extends string> = (
  variables: TemplateVariables<T>,
  ctx: Context,
  uri: string,
) => ResourceReply | Promise<ResourceReply>;

interface ResourceEntry {
  readonly definition: JsonObject;
  readonly hints: JsonObject;
  readonly handler: ResourceHandler;
}

interface TemplateEntry {
  readonly definition: JsonObject;
  readonly hints: JsonObject;
  readonly template: UriTemplate;
  readonly completers: Completers;
  readonly list: TemplateConfig['list'];
  /** What the resources in its list have unless they say otherwise. */
  readonly shared: JsonObject;
  readonly handler: TemplateHandler<string>;
}

/** The resources of a server: `resources/list`, `resources/templates/list` and `resources/read`. */
export class Resources {
  readonly fixed: Registry<ResourceConfig, ResourceEntry>;
  readonly templates: Registry<TemplateConfig, TemplateEntry>;
  readonly #pageSize: number;

  constructor(options: Pick<RegistryOptions, 'pageSize' | 'cache' | 'changed'>) {
    this.#pageSize = options.pageSize;
    this.fixed = new Registry({ ...options, kind: 'Resource', list: 'resources' });
    this.templates = new Registry({ ...options, kind: 'Resource template', list: 'resourceTemplates' });
  }

  add(uri: string, config: ResourceConfig, handler: ResourceHandler): Registered<ResourceConfig> {
    return this.fixed.add(uri, config, ({ ttlMs, cacheScope, ...shown }) => ({
      definition: compact({ uri, ...shown }),
      hints: cacheHints({ ttlMs, cacheScope }, `Resource ${uri}`),
      handler,
    }));
  }

  addTemplate(
    uriTemplate: string,
    config: TemplateConfig,
    handler: TemplateHandler<string>,
  ): Registered<TemplateConfig> {
    const template = new UriTemplate(uriTemplate);
    return this.templates.add(uriTemplate, config, ({ complete = {}, list, ttlMs, cacheScope, ...shown }) => {
      for (const variable of Object.keys(complete)) {
        if (!template.names.includes(variable))
          throw new TypeError(`URI template ${uriTemplate} has no variable ${variable} to complete`);
      }
      const completers = new Map(
        Object.entries(complete).filter((entry): entry is [string, Completer] => entry[1] !== undefined),
      );
      const { name: _, ...shared } = compact({ ...shown });
      return {
        definition: compact({ uriTemplate, ...shown }),
        shared,
        hints: cacheHints({ ttlMs, cacheScope }, `Resource template ${uriTemplate}`),
        template,
        completers,
        list,
        handler,
      };
    });
  }

  async list(exchange: Exchange): Promise<JsonObject> {
    const { cursor } = exchange.params;
    const listing = [...this.templates.entries()].filter(({ list }) => list !== undefined);
    if (listing.length === 0) return this.fixed.page(cursor);
    const found = await Promise.all(
      listing.map(async ({ list, shared }) => {
        const resources: unknown = (await list?.(new Context(exchange))) ?? [];
        if (!Array.isArray(resources))
          throw new TypeError('list of a resource template must return a list of resources');
        return resources.map((resource) => Object.assign({}, shared, resource));
      }),
    );
    return page('resources', [...this.fixed.definitions(), ...found.flat()], cursor, this.#pageSize, this.fixed.hints);
  }

  /** The scopes that a caller of `resources/read` needs. None if the resource does not exist. */
  scopesOf(uri: string): readonly string[] {
    const [registry, key] = this.#entryOf(uri);
    return registry.scopesOf(key);
  }

  /** @throws RpcError −32600 if the caller's credential lacks a scope that the resource needs. */
  authorize(uri: string, caller: Caller): void {
    const [registry, key] = this.#entryOf(uri);
    registry.authorize(key, caller);
  }

  /**
   * @throws RpcError if the resource does not exist, with the code of the caller's revision (2025-11-25 and 2026-07-28,
   * server/resources: Error Handling); −32602 if the URI is malformed; −32600 if the caller lacks a scope that the
   * resource needs; −32602 for the handler's `UserError`; and the handler's other errors.
   */
  async read(exchange: Exchange): Promise<JsonObject> {
    const uri: unknown = exchange.params['uri'];
    if (typeof uri !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"uri" must be a string');
    const found = this.#find(uri, exchange);
    const reply = await found?.reply;
    if (needsInput(reply)) return reply;
    const result = resourceResult(reply, uri, found?.entry.definition['mimeType']);
    if (found === undefined || result === undefined) {
      const message = quoting`Resource not found: ${uri}`;
      throw new RpcError(REVISIONS[exchange.caller.revision].resourceNotFound, message, { data: { uri } });
    }
    const { hints } = found.entry;
    // Cache hints in the handler's result override those of the registration.
    return Object.keys(hints).length === 0 ? result : { ...hints, ...result };
  }

  /** The name under which a URI is registered. Undefined if it is not registered. */
  #entryOf(uri: string): [Pick<Registry<never, never>, 'scopesOf' | 'authorize'>, key: string] {
    if (this.fixed.get(uri) !== undefined) return [this.fixed, uri];
    for (const { template } of this.templates.entries()) {
      if (template.fits(uri)) return [this.templates, template.template];
    }
    return [this.fixed, uri];
  }

  /** A fixed resource wins over a template, and an earlier template over a later one. */
  #find(uri: string, exchange: Exchange): { reply: unknown; entry: ResourceEntry | TemplateEntry } | undefined {
    const fixed = this.fixed.get(uri);
    if (fixed !== undefined) {
      this.fixed.authorize(uri, exchange.caller);
      return { reply: invalidParams(() => fixed.handler(uri, new Context(exchange))), entry: fixed };
    }
    for (const entry of this.templates.entries()) {
      const variables = entry.template.match(uri);
      if (variables === undefined) continue;
      this.templates.authorize(entry.template.template, exchange.caller);
      return { reply: invalidParams(() => entry.handler(variables, new Context(exchange), uri)), entry };
    }
    return undefined;
  }
}
