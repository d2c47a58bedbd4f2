import { inShortTurns } from '../base/short-turns.ts';
import { isAborted } from '../core/base-exchange.ts';
import type { Exchange } from '../core/exchange.ts';
import { peerOf } from '../core/peer-of.ts';
import { checkParamHeaders } from '../core/param-headers.ts';
import { needsInput } from '../core/rounds.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { CallToolResult, ContentBlock, ToolAnnotations } from '../protocol/types.ts';
import { checkContent, text, toolError, toolResult } from './content.ts';
import { Context } from './context.ts';
import type { Arguments, Structured } from './infer.ts';
import type { InputRequiredResult } from './input-required.ts';
import type { ErrorsForCallers } from './handler-errors.ts';
import { compact, Registry, type EntryConfig, type Registered, type RegistryOptions } from './registry.ts';
import { complaint } from '../schema/complaint.ts';
import { anySchema, inputSchema, NO_INPUT, type AnySchema, type InputSchema, type Schema } from './schema.ts';
import { taskSettings, type TaskConfig, type TaskSettings } from './task-config.ts';
import type { LazyTasks } from './lazy-tasks.ts';
import type { StartTask } from './task-rules.ts';

/** A tool as lists show it, the schemas of its arguments and result, and the scopes that it needs. */
export interface ToolConfig<
  I extends AnySchema | undefined = AnySchema | undefined,
  O extends AnySchema | undefined = AnySchema | undefined,
> extends EntryConfig {
  /**
   * The schema of the arguments. Without it, the tool takes none. HTTP callers repeat a property with `x-mcp-header` in
   * a header, which is checked (2026-07-28, server/tools: x-mcp-header).
   */
  input?: I;
  /**
   * The schema of the structured result. Without it, there is none. Results that are not objects exist from 2026-07-28
   * on: clients of earlier revisions get only the text.
   */
  output?: O;
  annotations?: ToolAnnotations | undefined;
  /**
   * Whether another process may run a call again from the start. In 2026-07-28, a caller's answers may reach another
   * process than the one that asked. That process does not know how far the call got. Default: true if `readOnlyHint`
   * or `idempotentHint` of `annotations` is true. `Context.once` makes steps safe to repeat.
   */
  safeToRerun?: boolean | undefined;
  /**
   * Lets calls of the tool run as tasks, which the caller polls (the tasks extension, from 2026-07-28). `true` uses the
   * defaults of `TaskConfig`. Default: no tasks.
   */
  task?: true | TaskConfig | undefined;
}

/**
 * The values that a tool may return.
 *
 * Without `output`: a string, number or boolean (one text block); a content block or an array of them; `undefined` (no
 * content); a whole result (an object with a `content` array); or any other value, which is sent as JSON text.
 *
 * With `output`: a value that matches it, which is sent as structured content and as JSON text; or a whole result with
 * `structuredContent` or `isError`. If `output` is an object with the single property `result`, a string, number or
 * boolean may be returned for it, which is also sent as plain text.
 *
 * In both cases, `inputRequired(…)` asks the caller a question first.
 */
export type ToolReply<O extends AnySchema | undefined> =
  | (O extends AnySchema ? Structured<O> | BareResult<Structured<O>> : Plain)
  // Outside of the conditional type, so that a literal `type: 'text'` keeps its type while `O` is inferred.
  | ((ContentBlock | readonly ContentBlock[]) & (O extends AnySchema ? never : unknown))
  | CallToolResult
  | InputRequiredResult;

/** Values that are sent as text or as JSON. */
type Plain = string | number | boolean | null | undefined | void | PlainObject | readonly PlainItem[];
type PlainItem = string | number | boolean | null | undefined | ContentBlock | PlainObject | readonly PlainItem[];
/** Any object but a collection such as bytes, which JSON does not have, and a result or a block with a mistake. */
type PlainObject = NoCollection & { then?: never; content?: string | number | boolean | null | NoCollection } & (
    | { type?: never }
    | { text?: never; data?: never; resource?: never; uri?: never }
  );
type NoCollection = object & { [Symbol.iterator]?: never };

type BareResult<T> = T extends { result: infer R extends string | number | boolean } ? R : never;

/**
 * Runs a tool. The arguments are already checked. A `UserError` becomes a failed result, whose message the model sees
 * (server/tools: Error Handling). An `RpcError` becomes a protocol error. Any other error goes to `onerror`, and the
 * model only sees that the tool failed.
 */
export type ToolHandler<I extends AnySchema | undefined, O extends AnySchema | undefined> = (
  args: Arguments<I>,
  ctx: Context,
) => ToolReply<O> | Promise<ToolReply<O>>;

/** Refuses a result with only `content` of a tool with `output` at compile time, with a message. */
export type NoBareContent<R, O extends AnySchema | undefined> = O extends AnySchema
  ? 0 extends 1 & R
    ? unknown
    : [BareContent<R, keyof Structured<O> | 'structuredContent' | 'isError'>] extends [never]
      ? unknown
      : 'Return structuredContent beside content, or only the value of output'
  : unknown;

/** Those results of a union that have content, and nothing under the other keys. */
type BareContent<R, Others extends PropertyKey> = R extends { content: readonly unknown[] }
  ? { [K in keyof R & Others]-?: R[K] extends undefined ? never : K }[keyof R & Others] extends never
    ? R
    : never
  : never;

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
  readonly #errorFor: ErrorsForCallers;
  readonly #tasks: LazyTasks;

  constructor(
    options: Pick<RegistryOptions, 'pageSize' | 'cache' | 'changed'>,
    onerror: (error: Error) => void,
    errorFor: ErrorsForCallers,
    tasks: LazyTasks,
  ) {
    this.#tasks = tasks;
    this.registry = new Registry({ ...options, kind: 'Tool', list: 'tools' });
    this.#onerror = onerror;
    this.#errorFor = errorFor;
  }

  add(name: string, config: ToolConfig, handler: ToolEntry['handler']): Registered<ToolConfig> {
    const registered = this.registry.add(name, config, ({ input, output, safeToRerun, task, ...shown }) => {
      const { readOnlyHint, idempotentHint } = shown.annotations ?? {};
      const entry = {
        name,
        input: input === undefined ? NO_INPUT : inputSchema(input, `Tool ${name}`),
        output: output === undefined ? undefined : anySchema(output, 'output', `Tool ${name}`),
        safeToRerun: safeToRerun ?? (readOnlyHint === true || idempotentHint === true),
        task: task === undefined ? undefined : taskSettings(task, `Tool ${name}`),
        handler,
      };
      if (entry.task) this.#tasks.used = true;
      const schemas = { inputSchema: entry.input.json, outputSchema: entry.output?.json };
      return { ...entry, definition: compact({ name, ...shown, ...schemas }) };
    });
    if (!NAME.test(name)) {
      this.#onerror(
        new Error(`Tool ${JSON.stringify(name)}: some clients accept only names of 1 to 128 letters, digits and _ - .`),
      );
    }
    return registered;
  }

  /** Whether another process may run a call again from the start, without knowing how far it came. */
  safeToRerun(name: string): boolean {
    return this.registry.get(name)?.safeToRerun ?? false;
  }

  /**
   * @throws RpcError −32602 if the request is malformed or names no tool; −32600 if the caller lacks a scope that the
   * tool needs; −32021 if the tool requires a task and the caller does not support tasks; −32020 if a header and its
   * argument differ; and the handler's `RpcError` (2025-11-25, server/tools: Error Handling). Errors that a model can
   * correct become a result with `isError`.
   */
  async call(exchange: Exchange): Promise<JsonObject> {
    const { entry: tool, args } = this.registry.requested(exchange);
    if (tool.input.headers !== undefined) checkParamHeaders(tool.input.headers, args, exchange);
    const check = () => {
      // The caller may have left while the check waited.
      if (isAborted(exchange)) exchange.signal.throwIfAborted();
      return tool.input.validate(args);
    };
    let checked = inShortTurns(check, peerOf(exchange.caller));
    if (checked instanceof Promise) checked = await checked;
    if (checked.issues) return toolError(`Invalid arguments for tool ${tool.name}: ${complaint(checked.issues)}`);
    const { value } = checked;
    if (tool.task === undefined) return this.#run(tool, value, exchange);
    const tasks = await this.#tasks.load();
    return tasks.call(tool.task, exchange, (running, start) => this.#run(tool, value, running, start));
  }

  async #run(tool: ToolEntry, args: unknown, exchange: Exchange, start?: StartTask): Promise<JsonObject> {
    try {
      const reply = await tool.handler(args, new Context(exchange, start));
      if (needsInput(reply)) return reply;
      return tool.output === undefined ? toolResult(reply) : await this.#structured(tool, tool.output, reply);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      const { message, name } = this.#errorFor(error, `Tool ${tool.name}`, exchange);
      return toolError(message || name);
    }
  }

  async #structured(tool: ToolEntry, schema: Schema, reply: unknown): Promise<JsonObject> {
    const whole = isWhole(reply) ? reply : undefined;
    if (whole) checkContent(whole.content);
    if (whole?.['isError']) return whole;
    const bare = whole === undefined && schema.json['type'] === 'object' && isBare(reply);
    const value = whole ? whole['structuredContent'] : bare ? { result: reply } : reply;
    let checked = schema.validate(value);
    if (checked instanceof Promise) checked = await checked;
    if (checked.issues) return this.#mismatch(tool, complaint(checked.issues));
    const structuredContent = checked.value;
    // A schema may accept undefined, but a result is required (2025-11-25, server/tools: Output Schema).
    if (structuredContent === undefined) return this.#mismatch(tool, 'the result has no value');
    if (whole) return structuredContent === value ? whole : { ...whole, structuredContent };
    // The same as text, for clients without structured content (2025-11-25, server/tools: Structured Content).
    return { content: [text(bare ? String(reply) : JSON.stringify(structuredContent))], structuredContent };
  }

  #mismatch(tool: ToolEntry, why: string): JsonObject {
    const message = `The result of tool ${tool.name} does not match its output schema: ${why}`;
    this.#onerror(new Error(message));
    return toolError(message);
  }
}

/** Whether a return value is a whole result, not just a value with a property `content`. */
function isWhole(reply: unknown): reply is JsonObject & { readonly content: readonly unknown[] } {
  return (
    isObject(reply) && Array.isArray(reply['content']) && ('structuredContent' in reply || reply['isError'] === true)
  );
}

function isBare(reply: unknown): boolean {
  return typeof reply === 'string' || typeof reply === 'number' || typeof reply === 'boolean';
}
