/** MCP types that this package builds or reads. Data that it only passes on stays `JsonObject`. */
import type { JsonObject } from '../jsonrpc/message.ts';

/** An icon to show to users (2025-11-25, basic: icons). */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string;
  /** Default: the type that the source declares. */
  mimeType?: string;
  /** `48x48`, or `any` if it scales. Default: any. */
  sizes?: string[];
  /** The background for which it is designed. Default: either. */
  theme?: 'light' | 'dark';
}

/** Name and version of a client or a server (basic/lifecycle: Initialization). */
export interface Implementation {
  /** For programs. */
  name: string;
  version: string;
  /** A name to show to users. Default: `name`. */
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
  /** How important the content is, from 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601: `2025-01-12T15:00:58Z`. */
  lastModified?: string;
}

/** The members that all kinds of content have. */
interface Annotated {
  annotations?: Annotations;
  _meta?: JsonObject;
}

/** Text for or from a model (server/tools: Text Content). */
export interface TextContent extends Annotated {
  type: 'text';
  text: string;
}

/** An image for or from a model (server/tools: Image Content). */
export interface ImageContent extends Annotated {
  type: 'image';
  /** Base64. */
  data: string;
  mimeType: string;
}

/** Sound for or from a model; from 2025-03-26 (server/tools: Audio Content). */
export interface AudioContent extends Annotated {
  type: 'audio';
  /** Base64. */
  data: string;
  mimeType: string;
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

/** A resource with its contents, as part of other content (server/tools: Embedded Resources). */
export interface EmbeddedResource extends Annotated {
  type: 'resource';
  resource: ResourceContents;
}

/** One part of a tool result or of a prompt message. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** The result of a tool call (server/tools: Tool Result). */
export interface CallToolResult {
  content: ContentBlock[];
  /** A value that matches the tool's output schema: an object from 2025-06-18, any JSON from 2026-07-28. */
  structuredContent?: unknown;
  /** The tool has failed, and `content` tells the model why. Default false. */
  isError?: boolean;
  _meta?: JsonObject;
}

/** The result of reading a resource (server/resources: Reading Resources). */
export interface ReadResourceResult {
  /** The contents of the resource, or of several resources if it contains others. */
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

/**
 * Hints about the effects of a tool. Clients must not trust the hints of servers that they do not trust (server/tools:
 * Tool).
 */
export interface ToolAnnotations {
  /** For people. */
  title?: string;
  /** The tool changes nothing. Default false. */
  readOnlyHint?: boolean;
  /** The tool may delete or overwrite data. Has a meaning only for tools that change something. Default true. */
  destructiveHint?: boolean;
  /**
   * Repeated calls with the same arguments change nothing more; only for tools that change something. Default false.
   */
  idempotentHint?: boolean;
  /** It interacts with the outside world, for example a web search. Default true. */
  openWorldHint?: boolean;
}

/** The members of each entry in the lists of a server. */
interface ListEntry {
  /** For programs. Clients show the title, or else the name. */
  name: string;
  title?: string;
  description?: string;
  icons?: Icon[];
  _meta?: JsonObject;
}

/** A tool as `tools/list` shows it (server/tools: Tool). */
export interface Tool extends ListEntry {
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations?: ToolAnnotations;
}

/** A resource as `resources/list` shows it (server/resources: Resource). */
export interface Resource extends ListEntry {
  uri: string;
  mimeType?: string;
  /** Of the contents, in bytes. */
  size?: number;
  annotations?: Annotations;
}

/** A resource that can be read or subscribed to; from 2025-06-18 (server/tools: Resource Links). */
export interface ResourceLink extends Resource {
  type: 'resource_link';
}

/**
 * A group of resources whose URIs match a template, as `resources/templates/list` shows them (server/resources:
 * Resource Templates).
 */
export interface ResourceTemplate extends ListEntry {
  /** RFC 6570. */
  uriTemplate: string;
  mimeType?: string;
  annotations?: Annotations;
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
export interface Prompt extends ListEntry {
  arguments?: PromptArgument[];
}

/** A directory or file that a client lets servers use (client/roots). */
export interface Root {
  /** Begins with `file://`. */
  uri: string;
  name?: string;
  _meta?: JsonObject;
}

/** The answer to an elicitation (client/elicitation: Response Actions). */
export interface ElicitResult {
  /** The user accepted, declined or dismissed the question. */
  action: 'accept' | 'decline' | 'cancel';
  /** The fields of an accepted form. Otherwise undefined. */
  content?: Record<string, string | number | boolean | string[]>;
  _meta?: JsonObject;
}

/** The result of `server/discover` (2026-07-28, server/discover), which describes a service. */
export interface DiscoverResult {
  /** The supported revisions, the preferred one first. */
  supportedVersions: string[];
  /** The capabilities of the service. */
  capabilities: JsonObject;
  /** Instructions for the model on how to use the service. */
  instructions?: string;
  _meta?: JsonObject;
}

/** The authenticated caller, and what it may do. */
export interface AuthInfo {
  /** Identifies the caller. Sessions, suspended requests and tasks are bound to it. For a JWT: issuer and subject. */
  readonly principal: string;
  /** The granted scopes. */
  readonly scopes: readonly string[];
  /** The OAuth client that acts for the principal, if it is known. */
  readonly clientId?: string | undefined;
  /** When the credential expires, in seconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** Further data of the credential: for a JWT, its claims. Never the credential itself. */
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
