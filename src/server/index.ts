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
export { audio, image, resource, type MediaSource } from './media.ts';
export { rateLimit, type RateLimitOptions } from './rate-limit.ts';
export type { EntryConfig, Registered } from './registry.ts';
export type { ResourceConfig, ResourceHandler, ResourceReply, TemplateConfig, TemplateHandler } from './resources.ts';
export type { AnySchema, StandardSchema } from './schema.ts';
export type { CacheHints } from './cache-hints.ts';
export type { ListKind } from './listeners.ts';
export type { HttpServerOptions } from './serving.ts';
export type { TaskConfig } from './task-config.ts';
export type { StartTaskOptions, TasksOptions } from './task-rules.ts';
export type { ToolConfig, ToolHandler, ToolReply } from './tools.ts';
export type { TemplateVariables } from './uri-template.ts';
export { UserError } from './user-error.ts';
export { memoryTaskStore, type MemoryTaskStoreOptions } from '../store/memory-tasks.ts';
export { TaskStoreFull, type TaskRecord, type TaskStore } from '../store/task-store.ts';
export * from '../core/public.ts';
