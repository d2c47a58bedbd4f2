import { Failure } from './failure.ts';
import { readHeaders } from './headers.ts';
import { readOAuthFlags } from './oauth-options.ts';
import { transportIn, type TargetFlags } from './options.ts';
import { hasCredentials, type GivenForUrl } from './target.ts';

/** What the options say about a server at a URL. @throws Failure with code 2 that contains no secret. */
export function readGiven(
  flags: Omit<TargetFlags, 'config' | 'login' | 'record'>,
  env: Readonly<Record<string, string | undefined>>,
): GivenForUrl {
  const given = { headers: readHeaders(flags.header, env), ...transportIn(flags), ...readOAuthFlags(flags, env) };
  if (given.oauth && hasCredentials(given)) {
    throw Failure.usage('with --header Authorization there is no login: remove it, or the options for the login');
  }
  return given;
}
