import type { Revision } from '../../protocol/revisions.ts';

/** The steps of authorization, in their order. */
export const STEPS = [
  'challenge',
  'resource-metadata',
  'server-metadata',
  'pkce',
  'registration',
  'authorization-request',
  'callback',
  'token',
  'first-request',
  'refresh',
  'step-up',
  'revocation',
] as const;

export type StepId = (typeof STEPS)[number];

/** What each step does, for people. */
export const STEP_TITLES: Readonly<Record<StepId, string>> = {
  challenge: 'Request without a token',
  'resource-metadata': 'Protected resource metadata',
  'server-metadata': 'Authorization server metadata',
  pkce: 'PKCE support',
  registration: 'Client registration',
  'authorization-request': 'Authorization request',
  callback: 'Callback',
  token: 'Token request',
  'first-request': 'Request with the token',
  refresh: 'Refresh',
  'step-up': 'Step-up',
  revocation: 'Revocation',
};

/** The result of a check. A breach of a MUST is `failed`, a breach of a SHOULD is a `warning`. */
export type CheckStatus = 'passed' | 'failed' | 'warning' | 'not applicable';

/** A check of a step. */
export interface CheckResult {
  /** Stable, in kebab-case. */
  readonly id: string;
  readonly status: CheckStatus;
  /** What was seen, or why the check is not applicable. Without secrets, escaped and cut. */
  readonly seen?: string | undefined;
  /** What is right, in one line. */
  readonly right: string;
  /** The page of the specification below the revision's folder, with its anchor. */
  readonly clause?: string | undefined;
  /** The address of the clause. */
  readonly url?: string | undefined;
  /** The RFC and the section, for example `RFC 9728, section 3.3`. */
  readonly rfc?: string | undefined;
}

/** A request and its response. Secrets are masked, and everything is escaped and cut. */
export interface ExchangeRecord {
  /** Who sends the request. The browser's responses are not seen. */
  readonly sender: 'client' | 'browser';
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly response?: ResponseRecord | undefined;
  /** Why no response came. */
  readonly problem?: string | undefined;
  /** Milliseconds. */
  readonly duration: number;
}

export interface ResponseRecord {
  readonly status: number;
  /** Those that matter for authorization. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** A step that was done, or why it was not. */
export interface StepRecord {
  readonly id: StepId;
  readonly title: string;
  /**
   * - `done`: also if checks failed.
   * - `stopped`: the client refuses to go on.
   * - `skipped`: there is nothing to do.
   */
  readonly outcome: 'done' | 'stopped' | 'skipped';
  /** What came out of it, or why. Escaped and cut. */
  readonly note: string;
  readonly exchanges: readonly ExchangeRecord[];
  readonly checks: readonly CheckResult[];
}

/** A pause before a step. */
export interface Pause {
  /** The step that comes next. */
  readonly step: StepId;
  /** Why the client stops here. To go on is the decision of a person. */
  readonly stopped?: string | undefined;
  /** The parameters of the authorization request, which can be changed. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** How to go on after a pause. */
export interface Proceed {
  /** All parameters of the authorization request, instead of those of the pause. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** The revisions whose authorization can be walked through. 2024-11-05 has none. */
export type AuthorizedRevision = Exclude<Revision, '2024-11-05'>;

export const AUTHORIZED_REVISIONS: readonly AuthorizedRevision[] = [
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
];
