/** The vocabulary of `sampling/createMessage` (2025-11-25 and 2026-07-28, client/sampling). */
import type { JsonObject } from '../jsonrpc/message.ts';
import type { AudioContent, ContentBlock, ImageContent, TextContent, Tool } from './types.ts';

/** A tool call that the model asks for. Only in messages of the assistant, from 2025-11-25. */
export interface ToolUseContent {
  type: 'tool_use';
  /** The result repeats it as `toolUseId`. */
  id: string;
  name: string;
  input: JsonObject;
  _meta?: JsonObject;
}

/** The result of a tool call that the model asked for. Only in messages of the user, from 2025-11-25. */
export interface ToolResultContent {
  type: 'tool_result';
  toolUseId: string;
  content: ContentBlock[];
  /** An object up to 2025-11-25, any JSON from 2026-07-28. */
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: JsonObject;
}

/** A part of a message to or from the caller's model. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

/** A message to the caller's model; `content` is a list from 2025-11-25 on. */
export interface SamplingMessage {
  role: 'user' | 'assistant';
  content: SamplingContent | SamplingContent[];
  _meta?: JsonObject;
}

/** The server's preferences for a model. The client need not follow them (client/sampling: Model Preferences). */
export interface ModelPreferences {
  /** Parts of model names, in order of preference. */
  hints?: { name?: string }[];
  /** From 0 (unimportant) to 1 (most important). The same holds for the other priorities. */
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** Whether the model may, must or must not use tools (client/sampling: Tool Choice Modes). */
export interface ToolChoice {
  /** Default `auto`. */
  mode?: 'auto' | 'required' | 'none';
}

/** The parameters of `sampling/createMessage`. */
export interface SampleParams {
  messages: readonly SamplingMessage[];
  /** The maximum number of tokens in the answer. */
  maxTokens: number;
  systemPrompt?: string;
  /** Values other than `none` are deprecated, and need the caller's capability `sampling.context`. Default `none`. */
  includeContext?: 'none' | 'thisServer' | 'allServers';
  temperature?: number;
  stopSequences?: string[];
  modelPreferences?: ModelPreferences;
  /** For the provider of the model. */
  metadata?: JsonObject;
  /** The tools that the model may call. The caller needs the capability `sampling.tools`. */
  tools?: Tool[];
  toolChoice?: ToolChoice;
  _meta?: JsonObject;
}

/** The response of the caller's model. */
export interface SampleResult extends SamplingMessage {
  /** The name of the model. */
  model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or one of the provider's. */
  stopReason?: string;
}
