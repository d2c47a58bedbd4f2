/** MCP types that this package builds or reads. Data that it only passes on stays `JsonObject`. */
import type { JsonObject } from '../jsonrpc/message.ts';

/** A picture for people (2025-11-25, basic: icons). */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string;
  /** Default: what the source says of itself. */
  mimeType?: string;
  /** `48x48`, or `any` for what scales. Default: any. */
  sizes?: string[];
  /** The background that it is made for. Default: either. */
  theme?: 'light' | 'dark';
}

/** Name and version of a client or a server (basic/lifecycle: Initialization). */
export interface Implementation {
  /** For programs. */
  name: string;
  version: string;
  /** For people. Default: the name. */
  title?: string;
  /** From 2025-11-25, as are `icons` and `websiteUrl`. */
  description?: string;
  icons?: Icon[];
  websiteUrl?: string;
}

/** Hints for the client on how to use content (server/resources: Annotations). */
export interface Annotations {
  /** The intended audience. Default: both. */
  audience?: ('user' | 'assistant')[];
  /** From 0, optional, to 1, required. */
  priority?: number;
  /** ISO 8601: `2025-01-12T15:00:58Z`. */
  lastModified?: string;
}

/** Text for or from a model (server/tools: Text Content). */
export interface TextContent {
  type: 'text';
  text: string;
  annotations?: Annotations;
  _meta?: JsonObject;
}

/** An image for or from a model (server/tools: Image Content). */
export interface ImageContent {
  type: 'image';
  /** Base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: JsonObject;
}

/** Sound for or from a model; from 2025-03-26 (server/tools: Audio Content). */
export interface AudioContent {
  type: 'audio';
  /** Base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: JsonObject;
}

/** A resource that can be read or subscribed to; from 2025-06-18 (server/tools: Resource Links). */
export interface ResourceLink {
  type: 'resource_link';
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Of the contents, in bytes. */
  size?: number;
  icons?: Icon[];
  annotations?: Annotations;
  _meta?: JsonObject;
}

/** The contents of a resource that is text (server/resources: Resource Contents). */
export interface TextResourceContents {
  uri: string;
  mimeType?: string;
  text: string;
  _meta?: JsonObject;
}

/** The contents of a resource that is not text (server/resources: Resource Contents). */
export interface BlobResourceContents {
  uri: string;
  mimeType?: string;
  /** Base64. */
  blob: string;
  _meta?: JsonObject;
}

/** The contents of a resource. */
export type ResourceContents = TextResourceContents | BlobResourceContents;

/** A resource with its contents, in the middle of other content (server/tools: Embedded Resources). */
export interface EmbeddedResource {
  type: 'resource';
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: JsonObject;
}

/** A part of what a tool returned or of what a prompt says. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** What a tool returned (server/tools: Tool Result). */
export interface CallToolResult {
  content: ContentBlock[];
  /** What the tool's output schema describes: an object from 2025-06-18, any JSON from 2026-07-28. */
  structuredContent?: unknown;
  /** The tool has failed, and `content` says why to the model. Default false. */
  isError?: boolean;
  _meta?: JsonObject;
}

/** What reading a resource gave (server/resources: Reading Resources). */
export interface ReadResourceResult {
  /** Of the resource, or of several where it holds others. */
  contents: ResourceContents[];
  _meta?: JsonObject;
}

/** One message of a prompt (server/prompts: PromptMessage). */
export interface PromptMessage {
  role: 'user' | 'assistant';
  content: ContentBlock;
}

/** A prompt with its arguments filled in (server/prompts: Getting a Prompt). */
export interface GetPromptResult {
  description?: string;
  messages: PromptMessage[];
  _meta?: JsonObject;
}

/** Hints on what a tool does; clients must not trust those of servers that they do not trust (server/tools: Tool). */
export interface ToolAnnotations {
  /** For people. */
  title?: string;
  /** It changes nothing. Default false. */
  readOnlyHint?: boolean;
  /** It may destroy something, and does not only add; of tools that change something. Default true. */
  destructiveHint?: boolean;
  /** Repeated calls with the same arguments change nothing more; only for tools that change something. Default false. */
  idempotentHint?: boolean;
  /** It interacts with the outside world, for example a web search. Default true. */
  openWorldHint?: boolean;
}

/** A tool as `tools/list` shows it (server/tools: Tool). */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: JsonObject;
}

/** A resource as `resources/list` shows it (server/resources: Resource). */
export interface Resource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Of the contents, in bytes. */
  size?: number;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: JsonObject;
}

/** Resources with a URI of one form, as `resources/templates/list` shows them (server/resources: Resource Templates). */
export interface ResourceTemplate {
  /** RFC 6570. */
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: JsonObject;
}

/** An argument of a prompt. */
export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  /** Default false. */
  required?: boolean;
}

/** A prompt as `prompts/list` shows it (server/prompts: Prompt). */
export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: PromptArgument[];
  icons?: Icon[];
  _meta?: JsonObject;
}

/** A place that a client lets servers work in (client/roots). */
export interface Root {
  /** Begins with `file://`. */
  uri: string;
  name?: string;
  _meta?: JsonObject;
}

/** The answer to an elicitation (client/elicitation: Response Actions). */
export interface ElicitResult {
  /** The person agreed, refused, or dismissed the question. */
  action: 'accept' | 'decline' | 'cancel';
  /** What was filled in; only where a form was accepted. */
  content?: Record<string, string | number | boolean | string[]>;
  _meta?: JsonObject;
}

/** The result of `server/discover` (2026-07-28, server/discover), which describes any service at the waist. */
export interface DiscoverResult {
  /** Revisions, the preferred one first. */
  supportedVersions: string[];
  /** What the service can do. */
  capabilities: JsonObject;
  /** How to use it, for the model. */
  instructions?: string;
  _meta?: JsonObject;
}

/** Who a transport authenticated, and what they may do. */
export interface AuthInfo {
  /** Identifies the caller. Sessions, suspended requests and tasks are bound to it. For a JWT: issuer and subject. */
  readonly principal: string;
  /** What was granted. */
  readonly scopes: readonly string[];
  /** The OAuth client that acts for the principal, where it is known. */
  readonly clientId?: string | undefined;
  /** When the credential ends, in seconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** Further data of the credential, for a JWT its claims. Never the credential itself. */
  readonly claims?: JsonObject | undefined;
}

/**
 * The notifications that a `subscriptions/listen` exchange requests (2026-07-28, basic/patterns/subscriptions:
 * Notification Filter).
 */
export interface SubscriptionFilter {
  /** Changes of the list of tools. Default false, as of the lists below. */
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** Updates of the resources with these URIs. */
  resourceSubscriptions?: string[];
  /** Changes of these tasks (the tasks extension). */
  taskIds?: string[];
}
