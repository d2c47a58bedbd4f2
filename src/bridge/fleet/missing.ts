import type { Exchange } from '../../core/exchange.ts';
import { NotificationMethod } from '../../protocol/methods.ts';

/** Why entries of a server are missing in a list, as the list's client reads it. */
export const Missing = {
  NoResponse: 'there was no valid response',
  Refused: 'the request was refused',
  TooLarge: 'they do not fit into one message',
  Cut: 'only the first pages can be read',
} as const;
export type MissingReason = (typeof Missing)[keyof typeof Missing];

/**
 * Sends the client one log message for each reason. The same text for all lists: a client that requests several at once can show
 * it once.
 *
 * @param missing the names of the servers.
 */
export function warnMissing(exchange: Exchange, missing: ReadonlyMap<string, MissingReason>): void {
  for (const reason of new Set(missing.values())) {
    const names = [...missing.keys()].filter((name) => missing.get(name) === reason);
    const data = `entries of ${names.join(', ')} are missing in lists, because ${reason}`;
    exchange.notify(NotificationMethod.Message, { level: 'warning', logger: 'everwire', data }).catch(() => {});
  }
}
