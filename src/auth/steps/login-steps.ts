import { decodeJwt } from 'jose';
import { waitFor } from '../../base/wait.ts';
import { isStrings } from '../../jsonrpc/message.ts';
import { parameterIn } from '../../transport/http/client/www-authenticate.ts';
import { authorizationRequest, codeIn } from '../client/authorization-code.ts';
import { secretsOfClient } from '../client/client-authentication.ts';
import { knownClient, register } from '../client/registration.ts';
import { scopesIn, selectScopes } from '../client/scopes.ts';
import { withParameters } from '../urls.ts';
import { requestToken, TOKEN, type TokenRequestContext } from '../client/token-endpoint.ts';
import { objectIn } from './exchange-log.ts';
import { done, stopped, type StepEnd, type Walk } from './walk.ts';

export async function findClient(walk: Walk): Promise<StepEnd> {
  const { facts, http, options, redirect, server } = walk;
  const { signal } = options;
  walk.login = await redirect.start([]);
  const { redirectUri } = walk.login;
  facts.redirectUri = redirectUri;
  facts.client = knownClient(options, server);
  if (facts.client && options.client) {
    facts.registeredBy = 'static';
    return done(`The client is ${facts.client.clientId}, which was registered by hand.`);
  }
  if (facts.client) {
    facts.registeredBy = 'document';
    const { clientId } = facts.client;
    // The authorization server will read it, too.
    await http.get(http.permitted(clientId, 'The client'), { accept: 'application/json' }, signal).catch(() => {});
    signal.throwIfAborted();
    return done(`The client is ${clientId}, the address of its metadata document.`);
  }
  if (server.registration_endpoint !== undefined) facts.registeredBy = 'dynamic';
  const client = await register(options, server, redirectUri, http, signal);
  for (const secret of secretsOfClient(client)) walk.secrets.add(secret);
  facts.client = client;
  return done(`The authorization server has registered the client as ${client.clientId}.`);
}

/** Makes the authorization request, whose parameters a person may change. */
export async function prepareRequest(walk: Walk): Promise<Readonly<Record<string, string>>> {
  const { facts, options, server } = walk;
  walk.scopes = selectScopes({
    wanted: options.scopes ?? [],
    challenged: scopesIn(parameterIn(facts.challenges, 'scope')),
    supported: stringsIn(facts.resourceDocument?.json['scopes_supported']),
    former: [],
    offered: stringsIn(server.scopes_supported),
    offline: true,
  });
  walk.request = await authorizationRequest(requestOf(walk));
  walk.secrets.add(walk.request.verifier);
  return Object.fromEntries(walk.request.url.searchParams);
}

/** @param parameters all of them, as a person has changed them. Default: those that the client would send. */
export function sendRequest(walk: Walk, parameters: Readonly<Record<string, string>> | undefined): Promise<StepEnd> {
  const { url, verifier, state } = walk.request!;
  if (parameters) {
    const changed = withParameters(new URL(walk.server.authorization_endpoint!), parameters);
    walk.request = { url: changed, verifier, state: parameters['state'] ?? state };
    walk.scopes = scopesIn(parameters['scope']) ?? [];
  }
  walk.facts.parameters = walk.request!.url.searchParams;
  addBrowserRequest(walk, walk.request?.url ?? url);
  return Promise.resolve(done('The browser opens this address.'));
}

export async function receiveAnswer(walk: Walk): Promise<StepEnd> {
  const { facts, options } = walk;
  const { signal } = options;
  try {
    await answerOf(walk);
    walk.code = await codeOf(walk);
    return done('The browser came back with a code.');
  } catch (error) {
    signal.throwIfAborted();
    const code = facts.answer?.get('code');
    walk.code = code ?? undefined;
    return stopped(error, code ? 'asked' : 'never');
  } finally {
    await walk.endLogin();
  }
}

export async function requestTokens(walk: Walk): Promise<StepEnd> {
  const { facts, options, log } = walk;
  try {
    await exchangeCode(walk);
    const { tokenType, refreshToken } = facts.tokens!;
    return done(`The client has a ${tokenType} token${refreshToken === undefined ? '' : ' and a refresh token'}.`);
  } catch (error) {
    options.signal.throwIfAborted();
    const { access_token: token, refresh_token: refresh } = objectIn(log.all.at(-1)?.reply) ?? {};
    if (typeof token !== 'string' || !TOKEN.test(token)) return stopped(error, 'never');
    walk.hold({
      accessToken: token,
      tokenType: 'Bearer',
      refreshToken: typeof refresh === 'string' ? refresh : undefined,
      expiresAt: undefined,
      refreshAt: undefined,
      scopes: undefined,
    });
    walk.granted.push(facts.tokens!);
    facts.audience = audienceOf(token);
    return stopped(error, 'asked');
  }
}

/** A second login, for more scopes, with the same client. @throws OAuthError */
export async function logInAgain(walk: Walk, challenged: readonly string[]): Promise<void> {
  const { facts, redirect, options, server } = walk;
  walk.login = await redirect.start([facts.redirectUri!]);
  try {
    walk.scopes = selectScopes({
      wanted: options.scopes ?? [],
      challenged,
      supported: undefined,
      former: walk.scopes,
      offered: stringsIn(server.scopes_supported),
      offline: true,
    });
    facts.redirectUri = walk.login.redirectUri;
    walk.request = await authorizationRequest(requestOf(walk));
    walk.secrets.add(walk.request.verifier);
    facts.parameters = walk.request.url.searchParams;
    addBrowserRequest(walk, walk.request.url);
    await answerOf(walk);
    walk.code = await codeOf(walk);
  } finally {
    await walk.endLogin();
  }
  await exchangeCode(walk);
}

/** What a request to the token endpoint needs. */
export function tokenContext(walk: Walk): TokenRequestContext {
  const { facts, http, dpop, options, server } = walk;
  return { server, client: facts.client!, http, dpop, signal: options.signal };
}

function requestOf(walk: Walk): Parameters<typeof authorizationRequest>[0] {
  const { facts, scopes } = walk;
  return { ...tokenContext(walk), redirectUri: facts.redirectUri!, resource: facts.resource, scopes };
}

function addBrowserRequest({ log }: Walk, url: URL): void {
  log.add({ sender: 'browser', method: 'GET', url: url.href, headers: {}, duration: 0 });
}

/** Waits for what comes back to the redirect URI. @throws OAuthError */
async function answerOf(walk: Walk): Promise<void> {
  const { facts, options, request, login } = walk;
  const { signal } = options;
  const start = performance.now();
  const { url, state, verifier } = request!;
  const came = walk.answer();
  const authorized = login!.authorize({ url, state, verifier, issuer: walk.server.issuer, signal });
  facts.answer = undefined;
  facts.answer = await waitFor(Promise.race([came, authorized]), { signal });
  const back = new URL(login!.redirectUri);
  back.search = facts.answer.toString();
  const duration = Math.round(performance.now() - start);
  walk.log.add({ sender: 'browser', method: 'GET', url: back.href, headers: {}, duration });
  for (const code of facts.answer.getAll('code')) walk.secrets.add(code);
  // The login waits on for the right response, if this one is wrong.
  authorized.catch(() => {});
}

function codeOf({ facts, server, request }: Walk): Promise<string> {
  return codeIn(facts.answer!, server, facts.client!, request!.state, [request!.verifier]);
}

async function exchangeCode(walk: Walk): Promise<void> {
  const { code, request, facts } = walk;
  // A person may have removed the resource.
  const { redirect_uri: redirectUri, resource } = Object.fromEntries(facts.parameters!);
  const grant = {
    code: code!,
    redirect_uri: redirectUri ?? facts.redirectUri!,
    code_verifier: request!.verifier,
    ...(resource !== undefined && { resource }),
  };
  const tokens = await requestToken(tokenContext(walk), 'authorization_code', grant);
  walk.hold(tokens);
  walk.granted.push(tokens);
  facts.audience = audienceOf(tokens.accessToken);
}

/** The audience of a JWT. It is only shown, so its signature does not matter. */
function audienceOf(token: string): readonly string[] | undefined {
  try {
    const { aud } = decodeJwt(token);
    return typeof aud === 'string' ? [aud] : aud;
  } catch {
    return undefined;
  }
}

function stringsIn(value: unknown): readonly string[] | undefined {
  return isStrings(value) ? value : undefined;
}
