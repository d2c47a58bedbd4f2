import type {
  Authorizer,
  OutgoingRequest,
  RefusedRequest,
  RefusedResponse,
} from '../../transport/http/client/authorizer.ts';
import type { OAuthOptions } from './options.ts';

/**
 * `oauth` for pages, which load its code with the first request. So options that cannot work are reported by the methods, and
 * by `connect`.
 */
export function oauth(options: OAuthOptions): Authorizer {
  return new LazyOAuth(options);
}

class LazyOAuth implements Authorizer {
  readonly #options: OAuthOptions;
  #loading: Promise<Authorizer> | undefined;
  #loaded: Authorizer | undefined;

  constructor(options: OAuthOptions) {
    this.#options = options;
  }

  get loginActiveUntil(): number {
    return this.#loaded?.loginActiveUntil ?? 0;
  }

  async headers(request: OutgoingRequest, signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
    return (await this.#load()).headers(request, signal);
  }

  async refused(request: RefusedRequest, response: RefusedResponse, signal?: AbortSignal): Promise<boolean> {
    return (await this.#load()).refused(request, response, signal);
  }

  async #load(): Promise<Authorizer> {
    this.#loading ??= import('./oauth.ts').then((loaded) => (this.#loaded = loaded.oauth(this.#options)));
    try {
      return await this.#loading;
    } catch (error) {
      // The next request loads it again.
      this.#loading = undefined;
      throw error;
    }
  }
}
