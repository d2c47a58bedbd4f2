import { scrubber, secretScrubber } from '../auth/scrub.ts';
import { secretsIn } from '../auth/secrets-in.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { scrubWith } from './print-status.ts';

/** The most credentials of a login that are kept, each with and without its scheme. A token lasts minutes or longer. */
const MAX_CREDENTIALS = 200;

/** The secrets that the output of a command must not have: those of its configuration, and the credentials of a login. */
export class OutputSecrets {
  readonly #given: readonly string[];
  /** The newest last. A report may quote a server that repeated any of them. */
  readonly #credentials = new Set<string>();

  /** They are removed from stderr from now on. */
  constructor(given: readonly string[]) {
    this.#given = given;
    this.#scrub();
  }

  /** An authorizer whose credentials are removed, too. */
  hiding(authorizer: Authorizer): Authorizer {
    return hideCredentials(authorizer, (secrets) => {
      if (secrets.every((secret) => this.#credentials.has(secret))) return;
      for (const secret of secrets) this.#credentials.add(secret);
      for (const oldest of [...this.#credentials].slice(0, -MAX_CREDENTIALS)) this.#credentials.delete(oldest);
      this.#scrub();
    });
  }

  /** Removes them from a report. What follows `Bearer` stays, because rules judge challenges. */
  get clean(): (text: string) => string {
    return secretScrubber(this.#all);
  }

  get #all(): string[] {
    return [...this.#given, ...this.#credentials];
  }

  #scrub(): void {
    scrubWith(scrubber(this.#all));
  }
}

/** @param hide gets the credentials of each request, because the server may repeat them in an error. */
export function hideCredentials(authorizer: Authorizer, hide: (secrets: readonly string[]) => void): Authorizer {
  return {
    get loginActiveUntil() {
      return authorizer.loginActiveUntil;
    },
    headers: async (request, signal) => {
      const given = await authorizer.headers(request, signal);
      hide(secretsIn(given['authorization'] ?? ''));
      return given;
    },
    refused: (request, reply, signal) => authorizer.refused(request, reply, signal),
  };
}
