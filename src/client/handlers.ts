import type { JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import type { SampleParams, SampleResult } from '../protocol/sampling.ts';
import type { DetailedTask } from '../protocol/tasks.ts';
import type { ElicitResult, Root } from '../protocol/types.ts';

/** A form that a server asks a person to fill in (client/elicitation: Form Mode Elicitation Requests). */
export interface FormRequest {
  mode?: 'form';
  /** Why, for the person. */
  message: string;
  /** A flat object of strings, numbers, booleans and choices. */
  requestedSchema: JsonObject;
  _meta?: JsonObject;
}

/** An address that a server asks a person to go to (client/elicitation: URL Mode Elicitation Requests). */
export interface UrlRequest {
  mode: 'url';
  /** Why, for the person. */
  message: string;
  /** To be shown in full before anybody goes there, and never fetched by the client itself. */
  url: string;
  /** By which 2025-11-25 tells of its end, in `notifications/elicitation/complete`. */
  elicitationId?: string;
  _meta?: JsonObject;
}

/** What a handler of a question knows beside the question. */
export interface QuestionContext {
  /** Fires when the server takes the question back, or the call that it belongs to is over. */
  readonly signal: AbortSignal;
  /** The request in whose middle it is asked, as far as that is known: over stdio a handshake server does not say. */
  readonly method: string;
  /** What the question is called among those of its request (2026-07-28). */
  readonly key: string | undefined;
}

/** Lets a person fill in a form. What is left out of `content` gets the form's default; the rest is checked. */
export type FormHandler = (form: FormRequest, context: QuestionContext) => ElicitResult | Promise<ElicitResult>;
/** Asks a person whether they go to an address; `accept` means that they agreed to, not that they are done. */
export type UrlHandler = (visit: UrlRequest, context: QuestionContext) => ElicitResult | Promise<ElicitResult>;
/** Lets the application's model say something. @throws RpcError −1 where the person forbids it. */
export type SampleHandler = (params: SampleParams, context: QuestionContext) => SampleResult | Promise<SampleResult>;
/** The places that servers may work in. */
export type RootsHandler = (context: QuestionContext) => readonly Root[] | Promise<readonly Root[]>;

/** A message of a server's log (server/utilities/logging). */
export interface LogMessage {
  level: LogLevel;
  /** Which part of the server says it. */
  logger?: string;
  /** Any JSON. */
  data: unknown;
  _meta?: JsonObject;
}

/** Something about a server has changed. */
export type Change =
  | { readonly type: 'tools' | 'prompts' | 'resources' }
  | { readonly type: 'resource'; readonly uri: string }
  | { readonly type: 'task'; readonly task: DetailedTask };

/** How far a call is (basic/patterns/progress). */
export interface Progress {
  progress: number;
  /** What `progress` will be at the end, where that is known. */
  total?: number;
  message?: string;
}

/** What an application answers and hears. What can be asked of it is what the server is told it is capable of. */
export interface Handlers {
  /** A function is for forms; for addresses give it as `url`. Default: neither. */
  onelicit?: FormHandler | { form?: FormHandler; url?: UrlHandler } | undefined;
  /** Default: the server has no model to ask. */
  onsample?: SampleHandler | undefined;
  /** What `onsample` can do beside plain messages: tools, and context of servers (deprecated). Default neither. */
  sampling?: { tools?: boolean; context?: boolean } | undefined;
  /** Default: no roots. */
  onroots?: RootsHandler | undefined;
}
