import { freeing, storing } from './commands.ts';
import { BASICS } from './event-scripts.ts';

/**
 * Keys, where `n` is a node:
 *
 * - `:nodes` has the time of the last sign of life of each node that reads messages as score, in milliseconds.
 * - `:in:n` is a Redis stream with the messages for a node that it has not handled. Fields: `m` the message, `k` its MAC.
 *   `:ib:n` is their size.
 */
const COMMON = `
local now = now_or('')
local function remember_nodes() redis.call('PEXPIRE', P .. ':nodes', 120000) end
`;

/** A sign of life. Argument: the node. Nodes that were silent for a minute are forgotten. */
export const JOIN = storing(
  BASICS,
  COMMON,
  `
redis.call('ZADD', P .. ':nodes', now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', P .. ':nodes', '-inf', now - 60000)
remember_nodes()
return 1
`,
);

/** A node reads nothing more. Argument: the node. */
export const LEAVE = freeing(`
redis.call('ZREM', P .. ':nodes', ARGV[1])
redis.call('DEL', P .. ':in:' .. ARGV[1], P .. ':ib:' .. ARGV[1])
return 1
`);

/** The nodes that have given a sign of life in the last minute. */
export const NODES = freeing(
  BASICS,
  COMMON,
  `
return redis.call('ZRANGEBYSCORE', P .. ':nodes', now - 60000, '+inf')
`,
);

/**
 * Puts a message into the inbox of a node. Arguments: the node, the message, its MAC, its size, how long a node counts as
 * alive, the limits of number and size (0 for none), the time to live of an inbox, `1` if the message is also for a node
 * that is suspended.
 *
 * Returns what became of it: `sent`, `kept` for a node that is suspended, `gone`, or `full`.
 */
export const SEND = storing(
  BASICS,
  COMMON,
  `
local node, message, mac, bytes = ARGV[1], ARGV[2], ARGV[3], num(ARGV[4])
local alive_for, max_count, max_bytes, ttl, also_suspended = num(ARGV[5]), num(ARGV[6]), num(ARGV[7]), ARGV[8], ARGV[9] == '1'
local seen = redis.call('ZSCORE', P .. ':nodes', node)
local alive = seen and num(seen) > now - alive_for
if not seen or not (alive or also_suspended) then return 'gone' end
local inbox, size = P .. ':in:' .. node, P .. ':ib:' .. node
local count = redis.call('XLEN', inbox)
local waiting = count > 0 and num(redis.call('GET', size)) or 0
if max_count > 0 and count > 0 and (count >= max_count or waiting + bytes > max_bytes) then
  return alive and 'full' or 'gone'
end
redis.call('XADD', inbox, '*', 'm', message, 'k', mac)
redis.call('SET', size, string.format('%.0f', waiting + bytes), 'PX', ttl)
redis.call('PEXPIRE', inbox, ttl)
return alive and 'sent' or 'kept'
`,
);

/** Removes messages that were handled. Arguments: the node, the size of the messages, and their ids. */
export const HANDLED = freeing(
  BASICS,
  `
local inbox, size = P .. ':in:' .. ARGV[1], P .. ':ib:' .. ARGV[1]
redis.call('XDEL', inbox, unpack(ARGV, 3))
if redis.call('XLEN', inbox) == 0 then
  redis.call('DEL', inbox, size)
elseif redis.call('EXISTS', size) == 1 then
  redis.call('DECRBY', size, ARGV[2])
end
return 1
`,
);
