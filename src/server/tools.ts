import type { Exchange } from '../core/exchange.ts';
import { needsInput } from '../core/rounds.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { CallToolResult, Icon, ToolAnnotations } from '../protocol/types.ts';
import { text, toolError, toolResult } from './content.ts';
import { Context } from './context.ts';
import type { Arguments, Structured } from './infer.ts';
import { compact, Registry, type Registered, type RegistryOptions } from './registry.ts';
import { complaint, inputSchema, NO_INPUT, outputSchema, type AnySchema, type Schema } from './schema.ts';

export interface ToolConfig<
  I extends AnySchema | undefined = AnySchema | undefined,
  O extends AnySchema | undefined = AnySchema | undefined,
> {
  title?: string;
  description?: string;
  /** What the arguments must be; without it the tool takes none. */
  input?: I;
  /**
   * What the structured result must be; without it there is none. One that is no object is known from 2026-07-28 on:
   * clients of earlier revisions get the text alone.
   */
  output?: O;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: JsonObject;
}

/**
 * What a tool may return.
 *
 * Without `output`: a string, number or boolean (one text block), a content block or an array of them, nothing (no
 * content), a whole result (an object with a `content` array), or any other value, which is sent as JSON text.
 *
 * With `output`: the value that it describes, which is sent as structured content and as JSON text; a bare string,
 * number or boolean for an output object with one property `result`, which is sent as that and as plain text; or a
 * whole result with `structuredContent` or `isError`.
 */
export type ToolReply<O extends AnySchema | undefined> = O extends AnySchema
  ? Structured<O> | BareResult<Structured<O>> | CallToolResult
  : unknown;

type BareResult<T> = T extends { result: infer R extends string | number | boolean } ? R : never;

export type ToolHandler<I extends AnySchema | undefined, O extends AnySchema | undefined> = (
  args: Arguments<I>,
  ctx: Context,
) => ToolReply<O> | Promise<ToolReply<O>>;

interface ToolEntry {
  readonly name: string;
  readonly definition: JsonObject;
  readonly input: Schema;
  readonly output: Schema | undefined;
  readonly handler: (args: any, ctx: Context) => unknown;
}

/** The tools of a server: `tools/list` and `tools/call`. */
export class Tools {
  readonly registry: Registry<ToolConfig, ToolEntry>;
  readonly #onerror: (error: Error) => void;

  constructor(options: Pick<RegistryOptions, 'pageSize' | 'changed'>, onerror: (error: Error) => void) {
    this.registry = new Registry({ ...options, kind: 'Tool', list: 'tools' });
    this.#onerror = onerror;
  }

  add(name: string, config: ToolConfig, handler: ToolEntry['handler']): Registered<ToolConfig> {
    return this.registry.add(name, config, ({ input, output, ...shown }) => {
      const entry = {
        name,
        input: input === undefined ? NO_INPUT : inputSchema(input, `Tool ${name}`),
        output: output === undefined ? undefined : outputSchema(output, `Tool ${name}`),
        handler,
      };
      const schemas = { inputSchema: entry.input.json, outputSchema: entry.output?.json };
      return { ...entry, definition: compact({ name, ...shown, ...schemas }) };
    });
  }

  /**
   * @throws RpcError −32602 where the request is malformed or names no tool; and what the handler throws, if that is one
   * (2025-11-25, server/tools: Error Handling). What a model can correct is a result with `isError` instead.
   */
  async call(exchange: Exchange): Promise<JsonObject> {
    const { name, arguments: args = {} } = exchange.params;
    if (typeof name !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"name" must be a string');
    const tool = this.registry.get(name);
    if (tool === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${name}`);
    if (!isObject(args)) throw new RpcError(ErrorCode.InvalidParams, '"arguments" must be an object');
    let verdict = tool.input.validate(args);
    if (verdict instanceof Promise) verdict = await verdict;
    if (verdict.issues) return toolError(`Invalid arguments for tool ${tool.name}: ${complaint(verdict.issues)}`);
    try {
      const reply = await tool.handler(verdict.value, new Context(exchange));
      if (needsInput(reply)) return reply;
      return tool.output === undefined ? toolResult(reply) : await this.#structured(tool, tool.output, reply);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      return toolError(error instanceof Error ? error.message || error.name : String(error));
    }
  }

  async #structured(tool: ToolEntry, schema: Schema, reply: unknown): Promise<JsonObject> {
    const whole = isWhole(reply) ? reply : undefined;
    if (whole?.['isError']) return whole;
    const bare = whole === undefined && schema.json['type'] === 'object' && isBare(reply);
    const value = whole ? whole['structuredContent'] : bare ? { result: reply } : reply;
    let verdict = schema.validate(value);
    if (verdict instanceof Promise) verdict = await verdict;
    if (verdict.issues) {
      const message = `The result of tool ${tool.name} does not match its output schema: ${complaint(verdict.issues)}`;
      this.#onerror(new Error(message));
      return toolError(message);
    }
    const structuredContent = verdict.value;
    if (whole) return structuredContent === value ? whole : { ...whole, structuredContent };
    // The same as text, for clients that know no structured content (2025-11-25, server/tools: Structured Content).
    return { content: [text(bare ? String(reply) : JSON.stringify(structuredContent))], structuredContent };
  }
}

/** Whether a reply is a whole result, and not a value that happens to have a property `content`. */
function isWhole(reply: unknown): reply is JsonObject {
  return (
    isObject(reply) && Array.isArray(reply['content']) && ('structuredContent' in reply || reply['isError'] === true)
  );
}

function isBare(reply: unknown): boolean {
  return typeof reply === 'string' || typeof reply === 'number' || typeof reply === 'boolean';
}
