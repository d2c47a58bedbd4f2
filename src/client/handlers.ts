import type { JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import type { SampleParams, SampleResult } from '../protocol/sampling.ts';
import type { DetailedTask } from '../protocol/tasks.ts';
import type { ElicitResult, Root } from '../protocol/types.ts';

/** A form that a server asks the user to fill in (client/elicitation: Form Mode Elicitation Requests). */
export interface FormRequest {
  mode?: 'form';
  /** The reason, to show to the user. */
  message: string;
  /** A flat object of strings, numbers, booleans and choices. */
  requestedSchema: JsonObject;
  _meta?: JsonObject;
}

/** A URL that a server asks the user to open (client/elicitation: URL Mode Elicitation Requests). */
export interface UrlRequest {
  mode: 'url';
  /** The reason, to show to the user. */
  message: string;
  /** Show it in full before the user opens it. The client itself must never fetch it. */
  url: string;
  /** In 2025-11-25, `notifications/elicitation/complete` names this id. */
  elicitationId?: string;
  _meta?: JsonObject;
}

/** The context of a question. Its handler gets it as second argument. */
export interface QuestionContext {
  /** Fires when the server cancels the question, or when its call has ended. */
  readonly signal: AbortSignal;
  /** The request that caused the question, if known. Over stdio, a handshake server does not name it. */
  readonly method: string;
  /** The key of the question within its request (2026-07-28). */
  readonly key: string | undefined;
}

/** Lets the user fill in a form. Fields that `content` leaves out get the form's defaults. The rest is checked. */
export type FormHandler = (form: FormRequest, context: QuestionContext) => ElicitResult | Promise<ElicitResult>;
/** Asks the user whether to open a URL. `accept` means that they agreed to open it, not that they are done there. */
export type UrlHandler = (visit: UrlRequest, context: QuestionContext) => ElicitResult | Promise<ElicitResult>;
/** Lets the application's model generate a message. @throws RpcError −1 if the user refuses. */
export type SampleHandler = (params: SampleParams, context: QuestionContext) => SampleResult | Promise<SampleResult>;
/** The roots that are offered to the server. */
export type RootsHandler = (context: QuestionContext) => readonly Root[] | Promise<readonly Root[]>;

/** A log message of a server (server/utilities/logging). */
export interface LogMessage {
  level: LogLevel;
  /** The part of the server that logs it. */
  logger?: string;
  /** Any JSON value. */
  data: unknown;
  _meta?: JsonObject;
}

/** A change at a server. */
export type Change =
  | { readonly type: 'tools' | 'prompts' | 'resources' }
  | { readonly type: 'resource'; readonly uri: string }
  | { readonly type: 'task'; readonly task: DetailedTask };

/** The progress of a call (basic/patterns/progress). */
export interface Progress {
  progress: number;
  /** The final value of `progress`, if known. */
  total?: number;
  message?: string;
}

/** The application's handlers for questions and notifications. They decide which capabilities the client declares. */
export interface Handlers {
  /** A plain function handles forms. For URLs, give an object with `url`. Default: neither. */
  onelicit?: FormHandler | { form?: FormHandler; url?: UrlHandler } | undefined;
  /** Default: the server cannot ask for model messages. */
  onsample?: SampleHandler | undefined;
  /**
   * What `onsample` supports in addition to plain messages: tools, and server context (deprecated). Default: neither.
   */
  sampling?: { tools?: boolean; context?: boolean } | undefined;
  /** Default: no roots. */
  onroots?: RootsHandler | undefined;
}
