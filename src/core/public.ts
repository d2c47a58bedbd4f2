/** The names that each of the entry points `.`, `./server` and `./client` exports. */
export type { AskOptions, Caller, Exchange, Middleware, Service, Session } from './exchange.ts';
export { ErrorCode, RpcError, type RpcErrorOptions } from '../jsonrpc/errors.ts';
export type { JsonObject } from '../jsonrpc/message.ts';
export type { LogLevel } from '../protocol/logging.ts';
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
export type { DetailedTask, Task, TaskStatus } from '../protocol/tasks.ts';
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
