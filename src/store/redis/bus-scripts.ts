import { freeing, storing } from './commands.ts';
import { BASICS } from './event-scripts.ts';

/**
 * Keys, where `n` is a node:
 *
 * - `:nodes` has the time of the last heartbeat of each node that reads messages as score, in milliseconds.
 * - `:in:n` is a Redis stream with the messages for a node that it has not handled. Fields: `m` one message or several that
 *   went together, or `a` if all are answers; `k` their MAC.
 *   `:ib:n` is their size. `:tk:n` is the newest request of the node that has taken messages: its number, and their ids.
 */
const COMMON = `
local now = now_or('')
local function remember_nodes() redis.call('PEXPIRE', P .. ':nodes', 120000) end
`;

/** The field of a message that is an answer, and that of another one. */
export const ANSWER = 'a';
export const OTHER = 'm';

/** Removes messages from an inbox. From `first` on, the arguments are their ids and sizes. */
const REMOVE = `
local function remove(node, first)
  local inbox, size = P .. ':in:' .. node, P .. ':ib:' .. node
  local removed, bytes = {}, 0
  for at = first, #ARGV, 2 do
    if redis.call('XDEL', inbox, ARGV[at]) == 1 then
      removed[#removed + 1] = ARGV[at]
      bytes = bytes + num(ARGV[at + 1])
    end
  end
  if redis.call('XLEN', inbox) == 0 then
    redis.call('DEL', inbox, size)
  elseif bytes > 0 and redis.call('EXISTS', size) == 1 then
    redis.call('DECRBY', size, string.format('%.0f', bytes))
  end
  return removed
end
`;

/**
 * A heartbeat. Argument: the node. Nodes that were silent for a minute are forgotten.
 *
 * Returns 1 if Redis knew nothing of this node, or had nothing from it for half a minute. It may not know the others either.
 */
export const JOIN = storing(
  BASICS,
  COMMON,
  `
local seen = redis.call('ZSCORE', P .. ':nodes', ARGV[1])
redis.call('ZADD', P .. ':nodes', now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', P .. ':nodes', '-inf', now - 60000)
remember_nodes()
return seen and num(seen) > now - 30000 and 0 or 1
`,
);

/**
 * Others send a node nothing more. It still reads what it has, and confirms and answers it. Argument: the node.
 *
 * Returns how many messages are in its inbox.
 */
export const RETIRE = freeing(
  BASICS,
  COMMON,
  `
redis.call('ZADD', P .. ':nodes', now - 30000, ARGV[1])
return redis.call('XLEN', P .. ':in:' .. ARGV[1])
`,
);

/** A node reads nothing more. Argument: the node. Its inbox stays for a while: what is there was not handled. */
export const LEAVE = freeing(`
redis.call('ZREM', P .. ':nodes', ARGV[1])
redis.call('DEL', P .. ':tk:' .. ARGV[1])
return 1
`);

/** The most nodes that share a Redis. */
const MAX_NODES = 1000;

/** The nodes that have sent a heartbeat in the last minute. */
export const NODES = freeing(
  BASICS,
  COMMON,
  `
return redis.call('ZREVRANGEBYSCORE', P .. ':nodes', '+inf', now - 60000, 'LIMIT', 0, ${MAX_NODES})
`,
);

/**
 * Puts a message into the inbox of a node. Arguments: the node, the message, its MAC, its size, how long a node counts as
 * alive, the limits of number and size (0 for none), the time to live of an inbox, `1` if the message is also for a node
 * that is suspended, the sender, the field of the message.
 *
 * Returns what became of it: `sent`, `kept` for a node that is suspended, or was killed within a minute, `gone`, `full`, or
 * `unsure` if Redis does not know the sender. Then the id of the message, if it is in the inbox: a full inbox keeps nothing.
 */
export const SEND = storing(
  BASICS,
  COMMON,
  `
local node, message, mac, bytes = ARGV[1], ARGV[2], ARGV[3], num(ARGV[4])
local alive_for, max_count, max_bytes, ttl, also_suspended = num(ARGV[5]), num(ARGV[6]), num(ARGV[7]), ARGV[8], ARGV[9] == '1'
local seen = redis.call('ZSCORE', P .. ':nodes', node)
local alive = seen and num(seen) > now - alive_for
if not redis.call('ZSCORE', P .. ':nodes', ARGV[10]) then return { 'unsure' } end
if not seen or not (alive or also_suspended) then return { 'gone' } end
local inbox, size = P .. ':in:' .. node, P .. ':ib:' .. node
local count = redis.call('XLEN', inbox)
local waiting = count > 0 and num(redis.call('GET', size)) or 0
if max_count > 0 and count > 0 and (count >= max_count or waiting + bytes > max_bytes) then
  return { alive and 'full' or 'kept' }
end
local id = redis.call('XADD', inbox, '*', ARGV[11], message, 'k', mac)
redis.call('SET', size, string.format('%.0f', waiting + bytes), 'PX', ttl)
redis.call('PEXPIRE', inbox, ttl)
return { alive and 'sent' or 'kept', id }
`,
);

/**
 * Removes messages from the inbox of a node, which handles them after that. Arguments: the node, the number of this request,
 * then the id and the size of each message. Returns the ids of those that were there. A request that is repeated gets the
 * same reply.
 */
export const TAKE = freeing(
  BASICS,
  REMOVE,
  `
local request = P .. ':tk:' .. ARGV[1]
local answered = redis.call('HMGET', request, 'n', 'ids')
if answered[1] == ARGV[2] then return cjson.decode(answered[2]) end
local taken = remove(ARGV[1], 3)
redis.call('HSET', request, 'n', ARGV[2], 'ids', cjson.encode(taken))
redis.call('PEXPIRE', request, 120000)
return taken
`,
);

/**
 * Removes a message that its sender waits for no longer. Arguments: the node, the id of the message, and its size. Returns
 * whether it was there. Then the node will not handle it.
 */
export const WITHDRAW = freeing(
  BASICS,
  REMOVE,
  `
return #remove(ARGV[1], 2)
`,
);
