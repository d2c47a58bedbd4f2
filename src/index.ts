/**
 * What every part shares: exchanges, services and middleware, messages and errors, the types of the protocol, and
 * `createInbound`, which opens a service to clients of every revision.
 *
 * @module
 */
export { derive, type ExchangeChanges } from './core/derive.ts';
export {
  compose,
  NotAsked,
  type AskOptions,
  type Caller,
  type Exchange,
  type Middleware,
  type Service,
  type Session,
} from './core/exchange.ts';
export { ErrorCode, isRpcError, RpcError, type RpcErrorOptions } from './jsonrpc/errors.ts';
export {
  isNotification,
  isRequest,
  isResponse,
  type ErrorObject,
  type ErrorResponse,
  type JsonObject,
  type JsonValue,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Response,
  type ResultResponse,
} from './jsonrpc/message.ts';
export { McpErrorCode } from './protocol/errors.ts';
export type { LogLevel } from './protocol/logging.ts';
export type { Revision } from './protocol/revisions.ts';
export type {
  ModelPreferences,
  SampleParams,
  SampleResult,
  SamplingContent,
  SamplingMessage,
  ToolChoice,
  ToolResultContent,
  ToolUseContent,
} from './protocol/sampling.ts';
export type { DetailedTask, Task, TaskStatus } from './protocol/tasks.ts';
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
} from './protocol/types.ts';
export type { MessageExtra, ReplyChannel, RequestListener, SendOptions, Transport } from './transport/transport.ts';
export { createInbound, serve, type Inbound, type InboundOptions } from './wire/serve.ts';
