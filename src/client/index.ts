/**
 * The client library: one client for servers of every revision.
 *
 * @module
 */
export {
  Client,
  type CallToolOptions,
  type Completion,
  type CompletionReference,
  type DetachedCall,
  type ToolResult,
} from './client.ts';
export { connect } from './connect.ts';
export { ConnectionError, InvalidResultError, TaskCancelledError, TimeoutError } from './errors.ts';
export type {
  Change,
  FormHandler,
  FormRequest,
  Handlers,
  LogMessage,
  Progress,
  QuestionContext,
  RootsHandler,
  SampleHandler,
  UrlHandler,
  UrlRequest,
} from './handlers.ts';
export type {
  ClientOptions,
  HttpLimits,
  HttpClientOptions,
  ListOptions,
  ReadOptions,
  RequestOptions,
  TaskOptions,
} from './options.ts';
export type { CacheOptions } from './result-cache.ts';
export type { Subscription } from './subscription.ts';
export type { ClientTransport, CommandTarget, ServerTarget, Target, UrlTarget } from './target.ts';
export type { TaskHandle } from './task.ts';
export type {
  Authorizer,
  OutgoingRequest,
  RefusedRequest,
  RefusedResponse,
} from '../transport/http/client/authorizer.ts';
export type { ReconnectionOptions } from '../transport/http/client/reconnection.ts';
export type { CachedEra, Era, EraCache, UpstreamRoute } from '../wire/era-cache.ts';
export type { Revision } from '../protocol/revisions.ts';
export * from '../core/public.ts';
