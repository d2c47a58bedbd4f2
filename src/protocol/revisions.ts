/**
 * The revision profiles: the features of each revision of the specification. Other code looks up features here instead
 * of comparing dates.
 */

import { ErrorCode } from '../jsonrpc/errors.ts';
import { McpErrorCode } from './errors.ts';
import { TASKS_EXTENSION } from './tasks.ts';

/** A revision of the Model Context Protocol, by its date. */
export type Revision = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28';

/** The features of a revision. */
export interface RevisionProfile {
  readonly revision: Revision;
  /**
   * `legacy` opens a session with `initialize`; `modern` has neither handshake nor session (2026-07-28, basic:
   * Versioning).
   */
  readonly era: 'legacy' | 'modern';
  /** JSON-RPC batches: added in 2025-03-26 (basic: Batching), removed in 2025-06-18 (changelog, 1). */
  readonly batches: boolean;
  /**
   * HTTP requests after the handshake name the revision in `MCP-Protocol-Version` (2025-06-18, transports: Protocol
   * Version Header).
   */
  readonly versionHeader: boolean;
  /**
   * A server begins an event stream with an event id and empty data, and may close the stream at any time (2025-11-25,
   * transports: Sending Messages, 6).
   */
  readonly primingEvent: boolean;
  /** Elicitation: `form` from 2025-06-18 (changelog, 6), `url` from 2025-11-25 (changelog, 6). */
  readonly elicitation: 'none' | 'form' | 'url';
  /**
   * Forms may have titles with `oneOf`, multiple choices, and defaults for all fields (2025-11-25, changelog, major 5
   * and minor 9).
   */
  readonly richForms: boolean;
  /**
   * A URL elicitation has an id, and a notification with this id reports its completion. Only in 2025-11-25
   * (2026-07-28, changelog, minor 11).
   */
  readonly elicitationId: boolean;
  /**
   * Tools in sampling, and the capabilities `sampling.tools` and `sampling.context` (2025-11-25, changelog, major 7).
   * Since then a message may have a list of content, and tool content (2025-11-25, client/sampling: Messages).
   */
  readonly samplingFeatures: boolean;
  /** Audio content (2025-03-26, changelog). */
  readonly audio: boolean;
  /** Resource links and `structuredContent` (2025-06-18, changelog, major 7 and 2). */
  readonly structuredContent: boolean;
  /**
   * Output schemas and structured results may be of any type, not only objects, and a property's schema may be a
   * boolean (2026-07-28, changelog, minor 10).
   */
  readonly anyOutput: boolean;
  /** The code for a resource that does not exist (2026-07-28, changelog, minor 6). */
  readonly resourceNotFound: typeof McpErrorCode.ResourceNotFound | typeof ErrorCode.InvalidParams;
  /**
   * Error codes of other revisions, with the nearest code of this revision. A code that is not listed is sent
   * unchanged.
   */
  readonly errorCodes: ReadonlyMap<number, number>;
  /** Vocabulary of later revisions, which is removed for this one. */
  readonly unknown: UnknownVocabulary;
}

/** Vocabulary of later revisions. Names that no revision defines are not listed, and pass unchanged. */
export interface UnknownVocabulary {
  /** Properties, by the object that has them. */
  readonly properties: Readonly<Partial<Record<ShapedObject, readonly string[]>>>;
  /** Notifications of servers. */
  readonly notifications: ReadonlySet<string>;
}

/**
 * The objects in a server's messages that got properties after the first revision, by their names in the schema or
 * similar names.
 */
export type ShapedObject =
  | 'Annotations'
  | 'CreateMessageParams'
  | 'ElicitParams'
  | 'Extensions'
  | 'FormSchema'
  | 'Implementation'
  | 'ProgressParams'
  | 'Prompt'
  | 'PromptArgument'
  | 'Resource'
  | 'ResourceLink'
  | 'ResourceTemplate'
  | 'Result'
  | 'ServerCapabilities'
  | 'Tool';

type Additions = Partial<Record<ShapedObject, readonly string[]>> & { readonly notifications?: readonly string[] };

/**
 * Cache hints (changelog, minor 5), `resultType` (major 8), subscriptions (major 4), and the extension for tasks, which
 * needs results of this revision. Other extensions concern only the client and the server, whose capabilities are an
 * open set in every revision (schema: ServerCapabilities).
 */
const SINCE_2026_07_28: Additions = {
  Result: ['resultType', 'ttlMs', 'cacheScope'],
  Extensions: [TASKS_EXTENSION],
  notifications: ['notifications/subscriptions/acknowledged', 'notifications/tasks'],
};

/**
 * Icons (changelog, major 2) and the other new fields of an implementation (minor 2), tasks in the core (major 9; until
 * 2026-07-28), modes of elicitation (major 6), the dialect of a form (minor 10).
 */
const SINCE_2025_11_25: Additions = {
  CreateMessageParams: ['task'],
  ElicitParams: ['mode', 'task'],
  FormSchema: ['$schema'],
  Implementation: ['description', 'icons', 'websiteUrl'],
  Prompt: ['icons'],
  Resource: ['icons'],
  ResourceLink: ['icons'],
  ResourceTemplate: ['icons'],
  ServerCapabilities: ['tasks'],
  Tool: ['icons', 'execution'],
  notifications: ['notifications/elicitation/complete', 'notifications/tasks/status'],
};

/** Titles (changelog, other 3), output schemas (major 2), `lastModified` (schema: Annotations). */
const SINCE_2025_06_18: Additions = {
  Annotations: ['lastModified'],
  Implementation: ['title'],
  Prompt: ['title'],
  PromptArgument: ['title'],
  Resource: ['title'],
  ResourceTemplate: ['title'],
  Tool: ['title', 'outputSchema'],
};

/** Annotations of tools (changelog, major 4), `message` and `completions` (other schema changes). */
const SINCE_2025_03_26: Additions = {
  ProgressParams: ['message'],
  ServerCapabilities: ['completions'],
  Tool: ['annotations'],
};

function unknown(...additions: readonly Additions[]): UnknownVocabulary {
  const properties: Partial<Record<ShapedObject, readonly string[]>> = {};
  const later: string[] = [];
  for (const { notifications = [], ...objects } of additions) {
    later.push(...notifications);
    for (const [object, names] of Object.entries(objects) as [ShapedObject, readonly string[]][])
      properties[object] = [...(properties[object] ?? []), ...names];
  }
  return { properties, notifications: new Set(later) };
}

/**
 * Replacements for the codes of 2026-07-28 (basic: Error Codes) in earlier revisions. In every handshake revision, an
 * unsupported version was an error of invalid parameters (basic/lifecycle: Error Handling). For a missing capability,
 * this package uses −32601.
 */
const NEWEST_CODES: readonly (readonly [number, number])[] = [
  [McpErrorCode.HeaderMismatch, ErrorCode.InvalidRequest],
  [McpErrorCode.MissingRequiredClientCapability, ErrorCode.MethodNotFound],
  [McpErrorCode.UnsupportedProtocolVersion, ErrorCode.InvalidParams],
];
/** Only in 2025-11-25. */
const URL_REQUIRED = [McpErrorCode.UrlElicitationRequired, ErrorCode.InternalError] as const;

// Each profile is the previous one with changes.

const FIRST: RevisionProfile = {
  revision: '2024-11-05',
  era: 'legacy',
  batches: false,
  versionHeader: false,
  primingEvent: false,
  elicitation: 'none',
  richForms: false,
  elicitationId: false,
  samplingFeatures: false,
  audio: false,
  structuredContent: false,
  anyOutput: false,
  resourceNotFound: McpErrorCode.ResourceNotFound,
  errorCodes: new Map([...NEWEST_CODES, URL_REQUIRED]),
  unknown: unknown(SINCE_2025_03_26, SINCE_2025_06_18, SINCE_2025_11_25, SINCE_2026_07_28),
};

const SECOND: RevisionProfile = {
  ...FIRST,
  revision: '2025-03-26',
  batches: true,
  audio: true,
  unknown: unknown(SINCE_2025_06_18, SINCE_2025_11_25, SINCE_2026_07_28),
};

const THIRD: RevisionProfile = {
  ...SECOND,
  revision: '2025-06-18',
  batches: false,
  versionHeader: true,
  elicitation: 'form',
  structuredContent: true,
  unknown: unknown(SINCE_2025_11_25, SINCE_2026_07_28),
};

const FOURTH: RevisionProfile = {
  ...THIRD,
  revision: '2025-11-25',
  primingEvent: true,
  elicitation: 'url',
  richForms: true,
  elicitationId: true,
  samplingFeatures: true,
  errorCodes: new Map(NEWEST_CODES),
  unknown: unknown(SINCE_2026_07_28),
};

const FIFTH: RevisionProfile = {
  ...FOURTH,
  revision: '2026-07-28',
  era: 'modern',
  primingEvent: false,
  elicitationId: false,
  anyOutput: true,
  resourceNotFound: ErrorCode.InvalidParams,
  errorCodes: new Map([[McpErrorCode.ResourceNotFound, ErrorCode.InvalidParams], URL_REQUIRED]),
  unknown: unknown(),
};

/** The profiles of all revisions that this package speaks. */
export const REVISIONS: Readonly<Record<Revision, RevisionProfile>> = {
  '2024-11-05': FIRST,
  '2025-03-26': SECOND,
  '2025-06-18': THIRD,
  '2025-11-25': FOURTH,
  '2026-07-28': FIFTH,
};

/** The revisions with a handshake, oldest first. */
export const LEGACY_REVISIONS: readonly Revision[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

/** The revisions without a handshake, in which each request is independent, newest first. */
export const MODERN_REVISIONS: readonly Revision[] = ['2026-07-28'];

/**
 * The revision that a handshake server offers to a client with an unknown revision (lifecycle: Version Negotiation).
 */
export const LATEST_LEGACY_REVISION: Revision = '2025-11-25';

/** The profile of a revision. Undefined if the revision is unknown, or no text. */
export function profileOf(revision: unknown): RevisionProfile | undefined {
  return typeof revision === 'string' && Object.hasOwn(REVISIONS, revision)
    ? REVISIONS[revision as Revision]
    : undefined;
}
