import { isObject } from '../../jsonrpc/message.ts';
import type { RedisClient } from './commands.ts';

/**
 * Refuses a client that cannot be the reader of a bus. Its failures would look as if other processes did not answer.
 *
 * @param client that of the state.
 * @throws TypeError
 */
export function checkReader(reader: RedisClient, client: RedisClient): void {
  if (reader === client)
    throw new TypeError('The reader of a bus must not be the Redis client of the state: it needs a client of its own');
  // A client of `@redis/client` never connects by itself.
  if ('isOpen' in reader && reader.isOpen === false)
    throw new TypeError('The reader of a bus must be connected: call its connect() first');
  // `ioredis` returns the replies of one write together, so the reply to a command comes when the next read has waited.
  if ('options' in reader && isObject(reader.options) && reader.options['enableAutoPipelining'] === true)
    throw new TypeError('The reader of a bus must not have enableAutoPipelining: each message would wait for a second');
}
