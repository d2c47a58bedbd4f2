import { isObject } from '../jsonrpc/message.ts';
import { VERSION } from '../version.ts';
import { Client } from './client.ts';
import { watched } from './credential-watch.ts';
import { ConnectionError } from './errors.ts';
import { openerFor } from './open.ts';
import type { ClientOptions } from './options.ts';
import { Requester } from './requester.ts';
import { openSubscription } from './subscription.ts';
import type { Target } from './target.ts';

/**
 * Connects to a server. Resolves when the server has described itself.
 *
 * A command is started once. If it exits, the calls in flight fail and the next call starts it again. In the same way,
 * a function is called again for a new transport. If the target is a transport, there is no second connection.
 *
 * @throws TypeError if the target is invalid; ConnectionError if the connection fails; TimeoutError after
 * `connectTimeout`; RpcError if the server refuses; OAuthError if a login fails; the signal's reason.
 */
export async function connect(target: Target, options: ClientOptions = {}): Promise<Client> {
  const { clientInfo = { name: 'everwire', version: VERSION }, signal, authorizer } = options;
  const watching = authorizer && { authorizer: watched(authorizer, () => requester.cache?.clear()) };
  const requester = new Requester(options, clientInfo, openerFor(target, { ...options, ...watching }));
  signal?.throwIfAborted();
  const abort = (): void => void requester.close(signal?.reason).catch(requester.onerror);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await requester.link.connect();
    // After a restart, a server without sessions may become one with sessions.
    if (!(await hearChanges(requester))) requester.onsession = () => hearChanges(requester);
    return new Client(requester);
  } catch (error) {
    await requester.close().catch(requester.onerror);
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/**
 * Listens from the start without a subscription of the application. From a handshake server: everything that it sends
 * to the session, and its questions outside of a call. From 2026-07-28 on: list changes, if the application has a
 * handler for them.
 *
 * @returns whether there is anything to listen to. If so, the subscription continues over later connections.
 */
async function hearChanges(requester: Requester): Promise<boolean> {
  const { onerror } = requester;
  const { onchange } = requester.options;
  if (requester.era === 'modern' && !onchange) return false;
  const { capabilities = {} } = requester.link.upstream?.discovered ?? {};
  const announces = (kind: string): boolean =>
    isObject(capabilities[kind]) && capabilities[kind]['listChanged'] === true;
  const filter = {
    ...(announces('tools') && { toolsListChanged: true }),
    ...(announces('prompts') && { promptsListChanged: true }),
    ...(announces('resources') && { resourcesListChanged: true }),
  };
  if (requester.era === 'modern' && Object.keys(filter).length === 0) return false;
  // The transport has already reported a lost connection.
  const report = (error: Error | undefined): void => {
    if (error && !(error instanceof ConnectionError)) onerror(error);
  };
  try {
    const { closed } = await openSubscription(requester, filter, (change) => onchange?.(change));
    closed.then(report).catch(onerror);
  } catch (error) {
    report(error as Error);
  }
  return true;
}
