import { scrubber, secretScrubber } from '../auth/scrub.ts';
import { secretsIn } from '../auth/secrets-in.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import { scrubWith } from './print-status.ts';

/** The secrets that the output of a command must not have: those of its configuration, and the credentials of a login. */
export class OutputSecrets {
  readonly #given: readonly string[];
  /** The newest credentials, and the ones before: a server may repeat a token that was just replaced. */
  #newest: readonly string[] = [];
  #before: readonly string[] = [];

  /** They are removed from stderr from now on. */
  constructor(given: readonly string[]) {
    this.#given = given;
    this.#scrub();
  }

  /** An authorizer whose credentials are removed, too. */
  hiding(authorizer: Authorizer): Authorizer {
    return hideCredentials(authorizer, (secrets) => {
      if (secrets.length === 0 || secrets.join() === this.#newest.join()) return;
      [this.#newest, this.#before] = [secrets, this.#newest];
      this.#scrub();
    });
  }

  /** Removes them from a report. What follows `Bearer` stays, because rules judge challenges. */
  get clean(): (text: string) => string {
    return secretScrubber(this.#all);
  }

  get #all(): string[] {
    return [...this.#given, ...this.#newest, ...this.#before];
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
