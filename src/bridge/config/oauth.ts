import { isObject } from '../../jsonrpc/message.ts';
import { nearest } from '../../base/nearest.ts';
import type { Place } from './place.ts';

/** How to log in at the authorization server of a server, as Claude Code and other hosts write it. */
export interface OAuthSettings {
  /** A client that the authorization server already knows. Default: a client is registered. */
  readonly clientId?: string;
  /** Its secret, if it has one. */
  readonly clientSecret?: string;
  /** The port that the browser returns to: `http://localhost:<port>/callback`. Default: a free port of `127.0.0.1`. */
  readonly callbackPort?: number;
  /** The scopes to request. Default: those that the server asks for. */
  readonly scopes?: readonly string[];
}

const KEYS = ['clientId', 'clientSecret', 'callbackPort', 'scopes'] as const;
/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Reads `oauth` of an entry. Undefined if it has none, or if it cannot be used. */
export function readOAuth(value: unknown, place: Place): { oauth: OAuthSettings } | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) return place.wrong('must be an object');
  for (const key of Object.keys(value)) {
    // Hosts have further settings, which do not concern this client.
    const known = KEYS.some((each) => each === key) ? undefined : nearest(key, KEYS);
    if (known !== undefined) place.at(key).wrong(`is not a setting (did you mean ${JSON.stringify(known)}?)`);
  }
  const text = (key: string): string | undefined =>
    value[key] === undefined ? undefined : place.at(key).string(value[key]);
  const clientId = text('clientId');
  const clientSecret = text('clientSecret');
  if (clientSecret !== undefined && value['clientId'] === undefined) place.wrong('has a clientSecret, but no clientId');
  const port: unknown = value['callbackPort'];
  const callbackPort = isPort(port) ? port : undefined;
  if (port !== undefined && callbackPort === undefined) {
    place.at('callbackPort').wrong('must be a number from 1 to 65535');
  }
  const scopes = value['scopes'] === undefined ? undefined : readScopes(value['scopes'], place.at('scopes'));
  return {
    oauth: {
      ...(clientId !== undefined && { clientId }),
      ...(clientSecret !== undefined && { clientSecret }),
      ...(callbackPort !== undefined && { callbackPort }),
      ...(scopes && { scopes }),
    },
  };
}

/** A list, or as in Claude Code one text with spaces. */
function readScopes(value: unknown, place: Place): readonly string[] | undefined {
  const listed = typeof value === 'string' ? [value] : place.strings(value);
  return listed && scopesIn(listed, (problem) => place.wrong(problem));
}

/**
 * The scopes in texts, each with one scope or several with spaces between them. `offline_access` is left out: it is not
 * a scope of a server, and is requested anyway if the authorization server has it.
 */
export function scopesIn(texts: readonly string[], wrong: (problem: string) => void): readonly string[] {
  const scopes = texts.flatMap((text) => text.split(' ')).filter((scope) => scope !== '');
  if (scopes.length === 0) wrong('must name a scope');
  if (!scopes.every((scope) => SCOPE.test(scope))) wrong('has characters that a scope cannot have');
  return scopes.filter((scope) => scope !== 'offline_access');
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536;
}
