import type { Exchange } from '../core/exchange.ts';
import { checkParamHeaders } from '../core/param-headers.ts';
import { needsInput } from '../core/rounds.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { CallToolResult, Icon, ToolAnnotations } from '../protocol/types.ts';
import { text, toolError, toolResult } from './content.ts';
import { Context } from './context.ts';
import type { Arguments, Structured } from './infer.ts';
import type { InputRequiredResult } from './input-required.ts';
import { HandlerErrors } from './handler-errors.ts';
import { compact, Registry, type EntryConfig, type Registered, type RegistryOptions } from './registry.ts';
import {
  complaint,
  inputSchema,
  NO_INPUT,
  outputSchema,
  type AnySchema,
  type InputSchema,
  type Schema,
} from './schema.ts';
import { taskSettings, type TaskConfig, type TaskSettings } from './task-config.ts';
import { TaskDesk } from './task-desk.ts';

/** A tool, as lists show it, what its arguments and its result must be, and who may call it. */
export interface ToolConfig<
  I extends AnySchema | undefined = AnySchema | undefined,
  O extends AnySchema | undefined = AnySchema | undefined,
> extends EntryConfig {
  title?: string | undefined;
  description?: string | undefined;
  /**
   * What the arguments must be; without it the tool takes none. A property with `x-mcp-header` is one that callers over
   * HTTP say again in a header, which is checked (2026-07-28, server/tools: x-mcp-header).
   */
  input?: I;
  /**
   * What the structured result must be; without it there is none. One that is no object is known from 2026-07-28 on:
   * clients of earlier revisions get the text alone.
   */
  output?: O;
  annotations?: ToolAnnotations | undefined;
  /**
   * Whether a call may be run again from the start by a process that does not know what came of it: a caller of
   * 2026-07-28 that comes with its answers may reach another process than the one that asked. Default: what
   * `annotations` say, true where `readOnlyHint` or `idempotentHint` is. `Context.once` makes steps safe to repeat.
   */
  safeToRerun?: boolean | undefined;
  /**
   * The tool works as a task: its calls may go on while the caller looks in from time to time (the tasks extension, from
   * 2026-07-28). True for the defaults of `TaskConfig`. Default: it does not.
   */
  task?: true | TaskConfig | undefined;
  icons?: Icon[] | undefined;
  _meta?: JsonObject | undefined;
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
 *
 * Either may return `inputRequired(…)`, which asks the caller something first.
 */
export type ToolReply<O extends AnySchema | undefined> = O extends AnySchema
  ? Structured<O> | BareResult<Structured<O>> | CallToolResult | InputRequiredResult
  : unknown;

type BareResult<T> = T extends { result: infer R extends string | number | boolean } ? R : never;

/**
 * Does the work of a tool. Its arguments are checked. A `UserError` becomes a failed result with its message for the model
 * (server/tools: Error Handling), an `RpcError` a protocol error. Any other error goes to `onerror`, and the model learns only
 * that the tool failed.
 */
export type ToolHandler<I extends AnySchema | undefined, O extends AnySchema | undefined> = (
  args: Arguments<I>,
  ctx: Context,
) => ToolReply<O> | Promise<ToolReply<O>>;

interface ToolEntry {
  readonly name: string;
  readonly definition: JsonObject;
  readonly input: InputSchema;
  readonly output: Schema | undefined;
  readonly safeToRerun: boolean;
  readonly task: TaskSettings | undefined;
  readonly handler: (args: any, ctx: Context) => unknown;
}

/** 2026-07-28, server/tools: Tool Names. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** The tools of a server: `tools/list` and `tools/call`. */
export class Tools {
  readonly registry: Registry<ToolConfig, ToolEntry>;
  readonly #onerror: (error: Error) => void;
  readonly #errors: HandlerErrors;
  readonly #tasks: TaskDesk;

  constructor(
    options: Pick<RegistryOptions, 'pageSize' | 'cache' | 'changed'>,
    onerror: (error: Error) => void,
    errors = new HandlerErrors({ expose: false, onerror }),
    tasks = new TaskDesk({}, onerror),
  ) {
    this.#tasks = tasks;
    this.registry = new Registry({ ...options, kind: 'Tool', list: 'tools' });
    this.#onerror = onerror;
    this.#errors = errors;
  }

  add(name: string, config: ToolConfig, handler: ToolEntry['handler']): Registered<ToolConfig> {
    const registered = this.registry.add(name, config, ({ input, output, safeToRerun, task, ...shown }) => {
      const { readOnlyHint, idempotentHint } = shown.annotations ?? {};
      const entry = {
        name,
        input: input === undefined ? NO_INPUT : inputSchema(input, `Tool ${name}`),
        output: output === undefined ? undefined : outputSchema(output, `Tool ${name}`),
        safeToRerun: safeToRerun ?? (readOnlyHint === true || idempotentHint === true),
        task: task === undefined ? undefined : taskSettings(task, `Tool ${name}`),
        handler,
      };
      if (entry.task) this.#tasks.use();
      const schemas = { inputSchema: entry.input.json, outputSchema: entry.output?.json };
      return { ...entry, definition: compact({ name, ...shown, ...schemas }) };
    });
    if (!NAME.test(name)) {
      this.#onerror(
        new Error(`Tool ${JSON.stringify(name)}: some clients take only names of 1 to 128 letters, digits and _ - .`),
      );
    }
    return registered;
  }

  /** What a caller of `tools/call` must have been granted; nothing where there is no such tool. */
  scopesOf(name: string): readonly string[] {
    return this.registry.scopesOf(name);
  }

  /** Whether a call may be run again from the start by a process that does not know what came of it. */
  safeToRerun(name: string): boolean {
    return this.registry.get(name)?.safeToRerun ?? false;
  }

  /**
   * @throws RpcError −32602 where the request is malformed or names no tool; −32600 where the caller was not granted what
   * the tool needs; −32021 where it works as a task only and the caller has none; −32020 where a header does not say what an argument says; and what the handler throws, if that is one
   * (2025-11-25, server/tools: Error Handling). What a model can correct is a result with `isError` instead.
   */
  async call(exchange: Exchange): Promise<JsonObject> {
    const { name, arguments: args = {} } = exchange.params;
    if (typeof name !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"name" must be a string');
    const tool = this.registry.get(name);
    if (tool === undefined) throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${name}`);
    this.registry.authorize(name, exchange.caller);
    if (!isObject(args)) throw new RpcError(ErrorCode.InvalidParams, '"arguments" must be an object');
    if (tool.input.headers !== undefined) checkParamHeaders(tool.input.headers, args, exchange);
    let verdict = tool.input.validate(args);
    if (verdict instanceof Promise) verdict = await verdict;
    if (verdict.issues) return toolError(`Invalid arguments for tool ${tool.name}: ${complaint(verdict.issues)}`);
    const { value } = verdict;
    const run = (running: Exchange): Promise<JsonObject> => this.#run(tool, value, running);
    return tool.task === undefined ? run(exchange) : this.#tasks.call(tool.task, exchange, run);
  }

  async #run(tool: ToolEntry, args: unknown, exchange: Exchange): Promise<JsonObject> {
    try {
      const reply = await tool.handler(args, new Context(exchange));
      if (needsInput(reply)) return reply;
      return tool.output === undefined ? toolResult(reply) : await this.#structured(tool, tool.output, reply);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      const { message, name } = this.#errors.forCaller(error, `Tool ${tool.name}`, exchange);
      return toolError(message || name);
    }
  }

  async #structured(tool: ToolEntry, schema: Schema, reply: unknown): Promise<JsonObject> {
    const whole = isWhole(reply) ? reply : undefined;
    if (whole?.['isError']) return whole;
    const bare = whole === undefined && schema.json['type'] === 'object' && isBare(reply);
    const value = whole ? whole['structuredContent'] : bare ? { result: reply } : reply;
    let verdict = schema.validate(value);
    if (verdict instanceof Promise) verdict = await verdict;
    if (verdict.issues) return this.#mismatch(tool, complaint(verdict.issues));
    const structuredContent = verdict.value;
    // A schema may take undefined, but there must be a result (2025-11-25, server/tools: Output Schema).
    if (structuredContent === undefined) return this.#mismatch(tool, 'there is none');
    if (whole) return structuredContent === value ? whole : { ...whole, structuredContent };
    // The same as text, for clients that know no structured content (2025-11-25, server/tools: Structured Content).
    return { content: [text(bare ? String(reply) : JSON.stringify(structuredContent))], structuredContent };
  }

  #mismatch(tool: ToolEntry, why: string): JsonObject {
    const message = `The result of tool ${tool.name} does not match its output schema: ${why}`;
    this.#onerror(new Error(message));
    return toolError(message);
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
