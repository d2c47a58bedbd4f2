import type { Revision } from '../../src/protocol/revisions.ts';
import { features, type Feature, type Peer } from '../interop/features.ts';
import { featureServer } from '../interop/peers.ts';
import { tasks } from './tasks.ts';

/** Over Streamable HTTP, a server may have sessions or not. */
export type Way = 'stdio' | 'http' | 'stateless' | 'sse';

/** One row of the matrix: a client and a server, directly or through our bridge. */
export interface Row {
  /** Which of them is in the other language. */
  readonly peer: 'client' | 'server';
  /** How this peer is connected, and with which revision. */
  readonly way: Way;
  readonly revision: Revision;
  /** The revision at the other side of our bridge. Without it, there is no bridge. */
  readonly across?: Revision;
}

/** Features of some rows that do not work, and why. The matrix asserts that they fail, and how. */
export interface Finding {
  /** What happens, as the docs say it. */
  readonly what: string;
  /** What the specification says. */
  readonly rule: string;
  /** What we do about it. */
  readonly ours: string;
  readonly features: readonly string[];
  readonly rows: (row: Row) => boolean;
  /** The message of the failure. */
  readonly fails: RegExp;
}

/** An SDK of another language, with a small server and a small client. */
export interface Language {
  /** What builds its programs. */
  readonly toolchain: string;
  /** The SDK and its release. */
  readonly name: string;
  /** The program that serves in one way. Over HTTP it says on stderr `listening on <url>`. */
  readonly server: (way: Way) => readonly string[];
  /** The program that a test drives. */
  readonly client: readonly string[];
  readonly rows: readonly Row[];
  /** Whether it has the tasks of 2026-07-28. */
  readonly tasks: boolean;
  readonly findings: readonly Finding[];
  /** Where its server differs from the feature server without being wrong. */
  readonly differs?: Partial<Peer>;
}

/** In a finding instead of features: the client does not even connect. */
export const CONNECTION = 'all';

/** In a finding instead of features: the client reports an error, although everything works. */
export const REPORTED = 'errors';

/** The features that a revision does not have. */
const SINCE: Readonly<Record<string, Revision>> = {
  'structured output': '2025-06-18',
  elicitation: '2025-06-18',
  'elicitation by URL': '2025-11-25',
};

/** What a server without sessions cannot do in a revision that has them: it cannot reach a client later. */
const NEEDS_SESSION = new Set([
  'cancel',
  'logging',
  'subscription',
  'list changed',
  'sampling',
  'elicitation',
  'elicitation by URL',
  'roots',
]);

/** The features that both ends of a row have. */
export function featuresOf(language: Language, { way, revision, across = revision }: Row): readonly Feature[] {
  const oldest = revision < across ? revision : across;
  const common = features.filter(({ name, has }) => {
    if (!has(featureServer) || oldest < (SINCE[name] ?? oldest)) return false;
    return way !== 'stateless' || revision >= '2026-07-28' || !NEEDS_SESSION.has(name);
  });
  return language.tasks && oldest >= '2026-07-28' ? [...common, tasks] : common;
}

/** Why a feature does not work in a row. */
export function findingOf({ findings }: Language, row: Row, feature: string): Finding | undefined {
  return findings.find(({ features: names, rows }) => names.includes(feature) && rows(row));
}

const WAYS: Readonly<Record<Way, string>> = {
  stdio: 'stdio',
  http: 'HTTP',
  stateless: 'HTTP without sessions',
  sse: 'HTTP+SSE',
};

export function headingOf({ peer, way, revision, across }: Row): string {
  const direct = `${peer} over ${WAYS[way]}, ${revision}`;
  return across === undefined ? direct : `${direct}, through a bridge to ${across}`;
}
