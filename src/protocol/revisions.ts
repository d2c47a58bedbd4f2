/**
 * The revision profile: what each revision of the specification allows. The only place that knows revisions by their
 * dates; everything else asks this table.
 */

import { ErrorCode } from '../jsonrpc/errors.ts';
import { McpErrorCode } from './errors.ts';

/** A revision of the Model Context Protocol, by its date. */
export type Revision = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28';

/** What a revision has, and how it does it. */
export interface RevisionProfile {
  readonly revision: Revision;
  /** `legacy` opens a session with `initialize`; `modern` has neither handshake nor session (2026-07-28, basic: Versioning). */
  readonly era: 'legacy' | 'modern';
  /** JSON-RPC batches: added in 2025-03-26 (basic: Batching), removed in 2025-06-18 (changelog, 1). */
  readonly batches: boolean;
  /** HTTP requests after the handshake name the revision in `MCP-Protocol-Version` (2025-06-18, transports: Protocol Version Header). */
  readonly versionHeader: boolean;
  /** An SSE stream opens with an event id and empty data, and may be closed at will (2025-11-25, transports: Sending Messages, 6). */
  readonly primingEvent: boolean;
  /** Elicitation: `form` from 2025-06-18 (changelog, 6), `url` from 2025-11-25 (changelog, 6). */
  readonly elicitation: 'none' | 'form' | 'url';
  /** Tools in sampling, and the capabilities `sampling.tools` and `sampling.context` (2025-11-25, changelog, major 7). */
  readonly samplingFeatures: boolean;
  /** Audio content (2025-03-26, changelog). */
  readonly audio: boolean;
  /** Resource links, `structuredContent` and `outputSchema`, `title` (2025-06-18, changelog). */
  readonly structuredContent: boolean;
  /** An output schema and a structured result may be of any type, not of objects alone (2026-07-28, changelog, minor 10). */
  readonly anyOutput: boolean;
  /** The code for a resource that does not exist (2026-07-28, changelog, minor 6). */
  readonly resourceNotFound: typeof McpErrorCode.ResourceNotFound | typeof ErrorCode.InvalidParams;
}

/** The profiles of all revisions that this package speaks. */
export const REVISIONS: Readonly<Record<Revision, RevisionProfile>> = {
  '2024-11-05': {
    revision: '2024-11-05',
    era: 'legacy',
    batches: false,
    versionHeader: false,
    primingEvent: false,
    elicitation: 'none',
    samplingFeatures: false,
    audio: false,
    structuredContent: false,
    anyOutput: false,
    resourceNotFound: McpErrorCode.ResourceNotFound,
  },
  '2025-03-26': {
    revision: '2025-03-26',
    era: 'legacy',
    batches: true,
    versionHeader: false,
    primingEvent: false,
    elicitation: 'none',
    samplingFeatures: false,
    audio: true,
    structuredContent: false,
    anyOutput: false,
    resourceNotFound: McpErrorCode.ResourceNotFound,
  },
  '2025-06-18': {
    revision: '2025-06-18',
    era: 'legacy',
    batches: false,
    versionHeader: true,
    primingEvent: false,
    elicitation: 'form',
    samplingFeatures: false,
    audio: true,
    structuredContent: true,
    anyOutput: false,
    resourceNotFound: McpErrorCode.ResourceNotFound,
  },
  '2025-11-25': {
    revision: '2025-11-25',
    era: 'legacy',
    batches: false,
    versionHeader: true,
    primingEvent: true,
    elicitation: 'url',
    samplingFeatures: true,
    audio: true,
    structuredContent: true,
    anyOutput: false,
    resourceNotFound: McpErrorCode.ResourceNotFound,
  },
  '2026-07-28': {
    revision: '2026-07-28',
    era: 'modern',
    batches: false,
    versionHeader: true,
    primingEvent: false,
    elicitation: 'url',
    samplingFeatures: true,
    audio: true,
    structuredContent: true,
    anyOutput: true,
    resourceNotFound: ErrorCode.InvalidParams,
  },
};

/** The revisions that open with a handshake, oldest first. */
export const LEGACY_REVISIONS: readonly Revision[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

/** The revisions in which each request stands for itself, newest first. */
export const MODERN_REVISIONS: readonly Revision[] = ['2026-07-28'];

/** What a handshake server offers to a client whose revision it does not know (lifecycle: Version Negotiation). */
export const LATEST_LEGACY_REVISION: Revision = '2025-11-25';

/** The profile of a revision, or undefined where the string names none that we know. */
export function profileOf(revision: string): RevisionProfile | undefined {
  return Object.hasOwn(REVISIONS, revision) ? REVISIONS[revision as Revision] : undefined;
}
