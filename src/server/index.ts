/**
 * The server library: a registry of tools, resources and prompts, served over any transport.
 *
 * @module
 */
export { McpServer, type McpServerOptions } from './mcp-server.ts';
export { Context, type CallerFeature, type ElicitAnswer, type ElicitForm } from './context.ts';
export { CompletionContext, type Completer } from './completion.ts';
export { inputRequired, type InputRequest, type InputRequiredResult } from './input-required.ts';
export type {
  PromptArgumentConfig,
  PromptArguments,
  PromptConfig,
  PromptHandler,
  PromptReply,
  PromptValues,
} from './prompts.ts';
export { rateLimit, type RateLimitOptions } from './rate-limit.ts';
export type { EntryConfig, Registered } from './registry.ts';
export type { ResourceConfig, ResourceHandler, ResourceReply, TemplateConfig, TemplateHandler } from './resources.ts';
export type { AnySchema, StandardSchema } from './schema.ts';
export type { CacheHints } from './cache-hints.ts';
export type { ListKind } from './listeners.ts';
export type { HttpServerOptions } from './serving.ts';
export type { TaskConfig } from './task-config.ts';
export type { StartTaskOptions } from './task-exchange.ts';
export type { TasksOptions } from './task-rules.ts';
export type { ToolConfig, ToolHandler, ToolReply } from './tools.ts';
export type { TemplateVariables } from './uri-template.ts';
export { UserError } from './user-error.ts';
export { ErrorCode, RpcError, type RpcErrorOptions } from '../jsonrpc/errors.ts';
export type { JsonObject } from '../jsonrpc/message.ts';
export type { AskOptions, Caller, Exchange, Middleware, Service, Session } from '../core/exchange.ts';
export type { LogLevel } from '../protocol/logging.ts';
export type { DetailedTask, Task, TaskStatus } from '../protocol/tasks.ts';
export { memoryTaskStore, type MemoryTaskStoreOptions } from '../store/memory-tasks.ts';
export { TaskStoreFull, type TaskRecord, type TaskStore } from '../store/task-store.ts';
export type {
  ModelPreferences,
  SampleParams,
  SampleResult,
  SamplingContent,
  SamplingMessage,
  ToolChoice,
  ToolResultContent,
  ToolUseContent,
} from '../protocol/sampling.ts';
export type {
  Annotations,
  AudioContent,
  AuthInfo,
  BlobResourceContents,
  CallToolResult,
  ContentBlock,
  DiscoverResult,
  ElicitResult,
  EmbeddedResource,
  GetPromptResult,
  Icon,
  ImageContent,
  Implementation,
  Prompt,
  PromptArgument,
  PromptMessage,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceLink,
  ResourceTemplate,
  Root,
  SubscriptionFilter,
  TextContent,
  TextResourceContents,
  Tool,
  ToolAnnotations,
} from '../protocol/types.ts';
