import { freeing, storing } from './commands.ts';

/**
 * Keys:
 *
 * - `:pin:key` has the node that has claimed the key.
 * - `:kept:key` has the text that is kept with it.
 * - `:n:n` has the last heartbeat of the node `n`, and exists as long as it is alive.
 */
const TAKE = `
local function take(key, node, ttl, kept_ttl)
  local pin = P .. ':pin:' .. key
  -- An error if somebody else has written a key of another type there. Then it is replaced, so that other claims are renewed.
  local holder = redis.pcall('GET', pin)
  if type(holder) == 'string' and holder ~= node and redis.call('EXISTS', P .. ':n:' .. holder) == 1 then return holder end
  redis.call('SET', pin, node, 'PX', ttl)
  redis.call('PEXPIRE', P .. ':kept:' .. key, kept_ttl)
  return node
end
`;

/**
 * Claims a key, which is also a heartbeat. Arguments: the key, the node, the times to live of the claim, of its text and of the
 * heartbeat, how much of the last must be left, and the last heartbeat that Redis has confirmed to this node.
 *
 * Returns the node that has it. Empty if Redis has no heartbeat of this node, so that others could take the claim, or an old one,
 * because it may have taken none of the others either. Also if it has a newer one: it may have stood still, read that, and not
 * yet read those of the others.
 */
export const CLAIM = storing(
  TAKE,
  `
local heartbeat = P .. ':n:' .. ARGV[2]
if redis.call('PTTL', heartbeat) <= tonumber(ARGV[6]) or redis.call('GET', heartbeat) ~= ARGV[7] then return '' end
redis.call('PEXPIRE', heartbeat, ARGV[5])
return take(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
`,
);

/** Renews claims. Arguments: the node, the times to live, the keys. Returns those that another node has. */
export const RENEW = storing(
  TAKE,
  `
local lost = {}
for at = 4, #ARGV do
  if take(ARGV[at], ARGV[1], ARGV[2], ARGV[3]) ~= ARGV[1] then lost[#lost + 1] = ARGV[at] end
end
return lost
`,
);

/** Gives a claim up. Arguments: the key, the node. */
export const RELEASE = freeing(`
local pin = P .. ':pin:' .. ARGV[1]
if redis.call('GET', pin) == ARGV[2] then redis.call('DEL', pin) end
return 1
`);

/** Keeps a text with a claim. Arguments: the key, the node, the time to live of the text, the text. Empty removes it. */
export const KEEP = storing(`
local pin, kept = P .. ':pin:' .. ARGV[1], P .. ':kept:' .. ARGV[1]
if redis.call('GET', pin) ~= ARGV[2] then return 0 end
if ARGV[4] == '' then redis.call('DEL', kept) else redis.call('SET', kept, ARGV[4], 'PX', ARGV[3]) end
return 1
`);

/** The text of a claim. Argument: the key. Empty if there is none. */
export const KEPT = freeing(`
return redis.call('GET', P .. ':kept:' .. ARGV[1]) or ''
`);

/** Forgets a node, unless it has sent another heartbeat. Arguments: the node, its heartbeat. Returns whether it is forgotten. */
export const FORGET = freeing(`
local key = P .. ':n:' .. ARGV[1]
return redis.call('GET', key) == ARGV[2] and redis.call('DEL', key) or 0
`);
