import type { Client } from '../client/client.ts';
import { connect } from '../client/connect.ts';
import type { ClientOptions } from '../client/options.ts';
import { childTransport } from '../transport/stdio/child.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import { bothWiretaps } from './both-wiretaps.ts';
import type { InspectedServer, MakeAuthorizer } from './connection.ts';

/**
 * Connects to a server once more, for a replay. The page shows the records of this connection too. A login must have
 * happened before.
 */
export async function connectAgain(
  server: InspectedServer,
  own: ClientOptions,
  { capture, authorizer: common }: { readonly capture: Wiretap; readonly authorizer?: MakeAuthorizer | undefined },
): Promise<Client> {
  const wiretap = own.wiretap ? bothWiretaps(own.wiretap, capture) : capture;
  const options: ClientOptions = { ...own, wiretap, onerror: () => {} };
  if (server.kind === 'command') return connect(() => childTransport({ ...server.target, wiretap }), options);
  const { url, headers, transport, authorizer: make = common } = server;
  const hasCredentials = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  const authorizer = hasCredentials ? undefined : await make?.(url, () => {});
  return connect({ url, transport }, { ...options, headers, authorizer });
}
