import type { HttpPage } from '../transport/http/handler.ts';
import { respondText } from './page.ts';

/**
 * Looks at something without which nothing can be served: undefined where it is well, else a word or two that say what is
 * wrong, in small letters: `unreachable`. It answers at once; what takes time is looked at beforehand.
 */
export type HealthCheck = () => string | undefined;

/** Whether a process lives, and whether it should be sent requests. */
export interface Health {
  /** What is wrong now, by the name of the check; empty where the process is ready. */
  readonly problems: Readonly<Record<string, string>>;
  /** From now on the process is not ready: it is about to end. */
  drain(): void;
  /**
   * `/healthz` answers 200 as long as the process answers at all. `/readyz` answers 200, or 503 with what is wrong. Both
   * are for anyone: they say nothing but words for states.
   */
  readonly pages: Readonly<Record<'/healthz' | '/readyz', HttpPage>>;
}

/** What a check may say to the world. */
const WORDS = /^[a-z][a-z -]{0,40}$/;

/**
 * Makes the health of a process.
 *
 * @param checks by the names under which `/readyz` tells of them.
 */
export function createHealth(checks: Readonly<Record<string, HealthCheck>> = {}): Health {
  let draining = false;
  const problems = (): Record<string, string> => {
    const found: Record<string, string> = draining ? { process: 'draining' } : {};
    for (const [name, check] of Object.entries(checks)) {
      const problem = wordsOf(check);
      if (problem !== undefined) found[name] = problem;
    }
    return found;
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
          const body = ready ? { status: 'ready' } : { status: 'not ready', problems: found };
          respondText(call, ready ? 200 : 503, `${JSON.stringify(body)}\n`, 'application/json');
        },
      },
    },
  };
}

function wordsOf(check: HealthCheck): string | undefined {
  try {
    const words = check();
    // A message might tell strangers what is behind the server.
    return words === undefined || WORDS.test(words) ? words : 'failing';
  } catch {
    return 'failing';
  }
}
