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
 * Connects to a server; resolves when it has said what it is.
 *
 * A command is started once; where it ends by itself, what is in flight fails, and the next call starts it anew, as it
 * does with what a function makes. A transport that was given is lost with its connection.
 *
 * @throws TypeError where the target is none; ConnectionError where there is no connection to be had; TimeoutError after
 * `connectTimeout`; RpcError where the server refuses; the reason of the signal.
 */
export async function connect(target: Target, options: ClientOptions = {}): Promise<Client> {
  const { clientInfo = { name: 'everwire', version: VERSION }, signal, authorizer } = options;
  const watching = authorizer && { authorizer: watched(authorizer, () => requester.cache?.clear()) };
  const requester = new Requester(options, clientInfo, openerFor(target, { ...options, ...watching }));
  signal?.throwIfAborted();
  const giveUp = (): void => void requester.close(signal?.reason).catch(requester.onerror);
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    await requester.link.connect();
    // A server that is spoken to without sessions may be followed by one that has them.
    if (!(await hearChanges(requester))) requester.onsession = () => hearChanges(requester);
    return new Client(requester);
  } catch (error) {
    await requester.close().catch(requester.onerror);
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

/**
 * Hears from the beginning what nobody subscribed to: all that a handshake server says to the session and asks outside of
 * a call, and from 2026-07-28 on the changes of lists, where somebody wants to hear of them.
 *
 * @returns whether there is anything to hear, and so a subscription, which goes on with the connections to come.
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
  // Of a connection that is lost the transport has told already.
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
