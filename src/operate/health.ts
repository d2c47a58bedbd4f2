import type { HttpPage } from '../transport/http/server/handler.ts';
import { respondText } from './page.ts';

/**
 * Checks something that the process needs to serve requests. Returns undefined if it is healthy, else one or two
 * lower-case words, such as `unreachable`. It must return at once, so slow checks have to run beforehand.
 */
export type HealthCheck = () => string | undefined;

/** The checks of a process. */
export interface HealthOptions {
  /** What `/readyz` shows, though the process can serve requests without it. By the names that it shows. */
  readonly notes?: Readonly<Record<string, HealthCheck>> | undefined;
}

/** Liveness and readiness of a process. */
export interface Health {
  /** The current problems by check name. Empty if the process is ready. */
  readonly problems: Readonly<Record<string, string>>;
  /** Marks the process as not ready, because it is about to end. */
  drain(): void;
  /**
   * `/healthz` answers 200 while the process runs. `/readyz` answers 200, or 503 with the problems. Both pages are
   * public: they contain only short words.
   */
  readonly pages: Readonly<Record<'/healthz' | '/readyz', HttpPage>>;
}

/** The words from a check that may be published. */
const WORDS = /^[a-z][a-z -]{0,40}$/;

/**
 * Creates the health pages of a process.
 *
 * @param checks by the names that `/readyz` shows.
 */
export function createHealth(
  checks: Readonly<Record<string, HealthCheck>> = {},
  { notes = {} }: HealthOptions = {},
): Health {
  let draining = false;
  const problems = (): Record<string, string> => {
    return { ...(draining && { process: 'draining' }), ...failing(checks) };
  };
  return {
    get problems() {
      return problems();
    },
    drain: () => {
      draining = true;
    },
    pages: {
      '/healthz': { answer: (call) => respondText(call, 200, '{"status":"ok"}\n', 'application/json') },
      '/readyz': {
        answer: (call) => {
          const found = problems();
          const ready = Object.keys(found).length === 0;
          const noted = failing(notes);
          const body = {
            ...(ready ? { status: 'ready' } : { status: 'not ready', problems: found }),
            ...(Object.keys(noted).length > 0 && { notes: noted }),
          };
          respondText(call, ready ? 200 : 503, `${JSON.stringify(body)}\n`, 'application/json');
        },
      },
    },
  };
}

function failing(checks: Readonly<Record<string, HealthCheck>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, check] of Object.entries(checks)) {
    const problem = wordsOf(check);
    if (problem !== undefined) found[name] = problem;
  }
  return found;
}

function wordsOf(check: HealthCheck): string | undefined {
  try {
    const words = check();
    // A longer text might reveal internal details of the server.
    return words === undefined || WORDS.test(words) ? words : 'failing';
  } catch {
    return 'failing';
  }
}
