import { peerUrl } from '../../base/peer-url.ts';
import { parameterIn, parseChallenges } from '../../transport/http/client/www-authenticate.ts';
import { checkPkce } from '../client/authorization-code.ts';
import { authorizationServer, defaultServer, issuersIn, legacyServer, resourceMetadata } from '../client/discovery.ts';
import { DpopKey } from '../client/dpop.ts';
import { objectIn } from './exchange-log.ts';
import type { Found } from './facts.ts';
import { ask, endSession, firstMessage } from './server-request.ts';
import { done, skipped, stopped, type StepEnd, type Walk } from './walk.ts';

/** The request that the server refuses, so that the client learns that it needs a token. */
export async function challenge(walk: Walk): Promise<StepEnd> {
  const { facts } = walk;
  facts.refusal = await ask(walk, firstMessage(walk));
  await endSession(walk, facts.refusal, undefined);
  const { status, headers } = facts.refusal;
  facts.challenges = parseChallenges(headers['www-authenticate']);
  if (status === 401) return done('The server requires authorization.');
  return done(`The server answers with status ${status}, so a client would not begin an authorization.`);
}

export async function findResource(walk: Walk): Promise<StepEnd> {
  const { facts, http, options } = walk;
  const { endpoint, revision, challenges } = facts;
  if (revision === '2025-03-26') return skipped('2025-03-26 has no protected-resource metadata.');
  const metadataUrl = parameterIn(challenges, 'resource_metadata');
  try {
    const metadata = await resourceMetadata({ endpoint, http, metadataUrl, signal: options.signal });
    facts.resourceDocument = document(walk);
    if (!metadata) return done('There is none. The client takes the server for one of 2025-03-26.');
    facts.resourceAccepted = true;
    facts.resource = metadata['resource'] as string;
    const onlyDpop = challenges.length > 0 && challenges.every(({ scheme }) => scheme === 'dpop');
    if (onlyDpop || metadata['dpop_bound_access_tokens_required'] === true) walk.dpop = await DpopKey.open();
    const [issuer, ...others] = issuersIn(metadata, endpoint);
    facts.issuer = issuer!;
    const rest = others.length === 0 ? '' : ` It names ${others.length} more, and the first one is used.`;
    return done(`The authorization server is ${issuer}.${rest}`);
  } catch (error) {
    options.signal.throwIfAborted();
    facts.resourceDocument = document(walk);
    const named = facts.resourceDocument?.json['authorization_servers'];
    const [first] = Array.isArray(named) ? (named as unknown[]) : [];
    if (typeof first === 'string') facts.issuer = first;
    return stopped(error, 'asked');
  }
}

export async function findServer(walk: Walk): Promise<StepEnd> {
  const { facts, http, options } = walk;
  const { endpoint, issuer, resourceDocument } = facts;
  const { signal } = options;
  try {
    facts.server = resourceDocument
      ? await authorizationServer(issuer, http, signal)
      : await legacyServer(endpoint, http, signal);
    facts.serverDocument = document(walk);
    if (!facts.serverDocument)
      return done(`There is none. The client uses the default endpoints at ${endpoint.origin}.`);
    return done(`The issuer is ${facts.server.issuer}.`);
  } catch (error) {
    signal.throwIfAborted();
    facts.serverDocument = document(walk);
    const { json } = facts.serverDocument ?? {};
    const named = json?.['issuer'];
    const defaults = defaultServer((peerUrl(issuer) ?? endpoint).origin);
    facts.server = json ? { ...json, issuer: typeof named === 'string' ? named : issuer } : defaults;
    return stopped(error, walk.log.all.some(({ reply }) => reply) ? 'asked' : 'never');
  }
}

export async function findPkce({ server }: Walk): Promise<StepEnd> {
  checkPkce(server);
  return done('The client uses PKCE with S256.');
}

/** The last document that was found in a step. */
function document({ log }: Walk): Found | undefined {
  const exchange = log.all.findLast(({ reply }) => reply?.status === 200 && objectIn(reply) !== undefined);
  return exchange && { url: exchange.url, reply: exchange.reply!, json: objectIn(exchange.reply)! };
}
