/** The era of a revision: `modern` has neither handshake nor session (2026-07-28, versioning: Terminology). */
export type Era = 'legacy' | 'modern';

/** What carries messages to a server: a connection of its own (stdio, memory, custom), or one of the two over HTTP. */
export type UpstreamRoute = 'connection' | 'streamable-http' | 'http+sse';

/** How a server was reached. */
export interface Verdict {
  readonly era: Era;
  readonly route: UpstreamRoute;
}

/**
 * Remembers how servers were reached, so that they are not asked for it each time (2026-07-28, versioning: Backward
 * Compatibility). Keys are given by who connects: the origin and path of a URL, or a command with its arguments. A verdict
 * is a hint: what comes out false is found out, and set anew. Where either function throws, that is reported, and goes on
 * without.
 */
export interface VerdictStore {
  /** What was set last; undefined where nothing was, or it is forgotten. */
  get(key: string): Verdict | undefined | Promise<Verdict | undefined>;
  /** Remembers a verdict in place of the one before. */
  set(key: string, verdict: Verdict): void | Promise<void>;
}

/** This many servers are remembered; who was set the longest ago is forgotten first. */
const MAX_VERDICTS = 1000;

/** Verdicts that live as long as the process. */
export function memoryVerdicts(): VerdictStore {
  const verdicts = new Map<string, Verdict>();
  return {
    get: (key) => verdicts.get(key),
    set: (key, verdict) => {
      verdicts.delete(key);
      verdicts.set(key, verdict);
      if (verdicts.size <= MAX_VERDICTS) return;
      const [oldest] = verdicts.keys();
      verdicts.delete(oldest!);
    },
  };
}
