import { freeing, storing } from './commands.ts';
import { BASICS } from './event-scripts.ts';

/**
 * Keys, where `h` is the hash of a session:
 *
 * - `:r:h` is a hash: `record`, `settings`, `tag` another one after each change, `share`, and `used` when it was last used.
 * - `:ru` has the time of the last use of each session as score, in microseconds and each another one; `:rs:share` has
 *   those of one share. `:ri` says the share and the size of each session.
 * - `:rn` has the number of sessions of each share as score, `:rb` their size, and `:rt` is the size of all.
 */
const COMMON = `
local IN_USE, LARGE, PART = 120000, 64, 7 / 8
local now, max_age, max_sessions, max_bytes, ttl = now_or(ARGV[1]), num(ARGV[2]), num(ARGV[3]), num(ARGV[4]), ARGV[5]
local function place_of(h)
  local known = redis.call('HGET', P .. ':ri', h)
  return known and cjson.decode(known)
end
local function count(share, sessions, bytes)
  redis.call('INCRBY', P .. ':rt', bytes)
  redis.call('ZINCRBY', P .. ':rb', bytes, share)
  if num(redis.call('ZINCRBY', P .. ':rn', sessions, share)) <= 0 then
    redis.call('ZREM', P .. ':rn', share)
    redis.call('ZREM', P .. ':rb', share)
  end
end
-- Returns false if the place of the session is lost, which happens only if Redis may evict keys.
local function leave(h)
  redis.call('ZREM', P .. ':ru', h)
  local place = place_of(h)
  if not place then return false end
  redis.call('HDEL', P .. ':ri', h)
  if has_type(':rs:' .. place[1], 'zset') then redis.call('ZREM', P .. ':rs:' .. place[1], h) end
  count(place[1], -1, -place[2])
  return true
end
local function remove(h)
  local was_known = leave(h)
  redis.call('DEL', P .. ':r:' .. h)
  forget(h)
  return was_known
end
local function set_place(h, share, bytes, score)
  leave(h)
  score = string.format('%.0f', score)
  redis.call('HSET', P .. ':ri', h, cjson.encode({ share, bytes }))
  redis.call('ZADD', P .. ':ru', score, h)
  redis.call('ZADD', P .. ':rs:' .. share, score, h)
  count(share, 1, bytes)
  redis.call('PEXPIRE', P .. ':rs:' .. share, ttl)
end
local function keep()
  for _, name in ipairs({ ':ri', ':ru', ':rn', ':rb', ':rt' }) do redis.call('PEXPIRE', P .. name, ttl) end
end
-- No two uses have the same score, so the order is that of the uses.
local function next_score()
  local newest = redis.call('ZREVRANGE', P .. ':ru', 0, 0, 'WITHSCORES')[2]
  return math.max(now * 1000, num(newest) + 1)
end
local function sweep()
  local before = '(' .. string.format('%.0f', (now - max_age) * 1000)
  for _, h in ipairs(redis.call('ZRANGEBYSCORE', P .. ':ru', '-inf', before, 'LIMIT', 0, 100)) do remove(h) end
end
local function oldest(key, except)
  if not has_type(key, 'zset') then return nil, 0 end
  local found = redis.call('ZRANGE', P .. key, 0, 1, 'WITHSCORES')
  if found[1] == except then return found[3], num(found[4]) end
  return found[1], num(found[2])
end
local function is_idle(score) return now - math.floor(score / 1000) >= IN_USE end
local function evictable(h, own, exceeded)
  local limit = exceeded == ':rn' and max_sessions or max_bytes
  local found, large = redis.call('ZREVRANGEBYSCORE', P .. exceeded, '+inf', '(' .. limit / LARGE, 'WITHSCORES'), {}
  for i = 1, #found, 2 do large[#large + 1] = { found[i], num(found[i + 1]) } end
  table.sort(large, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    if (a[1] == own) ~= (b[1] == own) then return a[1] == own end
    return a[1] < b[1]
  end)
  for _, share in ipairs(large) do
    local session, score = oldest(':rs:' .. share[1], h)
    if session and (share[1] == own or share[2] > limit * PART or is_idle(score)) then return session end
  end
  local session, score = oldest(':ru', h)
  if session and is_idle(score) then return session end
  return (oldest(':rs:' .. own, h))
end
-- Removes sessions until there is room for one more. Returns false if there is none.
local function make_room(h, share, bytes)
  while true do
    local place, exceeded = place_of(h), nil
    if redis.call('ZCARD', P .. ':ru') + (place and 0 or 1) > max_sessions then exceeded = ':rn'
    elseif num(redis.call('GET', P .. ':rt')) + bytes - (place and place[2] or 0) > max_bytes then exceeded = ':rb' end
    if not exceeded then return true end
    local evicted = evictable(h, share, exceeded)
    if not evicted or not remove(evicted) then return false end
  end
end
local function is_known(h)
  local used = redis.call('HGET', P .. ':r:' .. h, 'used')
  return used and now - num(used) <= max_age
end
`;

/** Returns 1, or 0 if there is no room. A session that is known stays as it is. */
export const PUT = storing(
  BASICS,
  COMMON,
  `
local h, share, record, settings, bytes, tag = ARGV[6], ARGV[7], ARGV[8], ARGV[9], num(ARGV[10]), ARGV[11]
local key = P .. ':r:' .. h
if has_type(':r:' .. h, 'hash') and is_known(h) and redis.call('HSTRLEN', key, 'record') > 0 then return 1 end
sweep()
if not make_room(h, share, bytes) then return 0 end
redis.call('DEL', key)
redis.call('HSET', key, 'record', record, 'settings', settings, 'tag', tag, 'share', share, 'used', string.format('%.0f', now))
redis.call('PEXPIRE', key, ttl)
set_place(h, share, bytes, next_score())
keep()
return 1`,
);

/** Returns the record, the settings and the tag, or nothing. */
export const GET = freeing(
  BASICS,
  COMMON,
  `
if not is_known(ARGV[6]) then return {} end
return redis.call('HMGET', P .. ':r:' .. ARGV[6], 'record', 'settings', 'tag')`,
);

/** Like `GET`, but without the record. Returns the size of the record instead. */
export const GET_SETTINGS = freeing(
  BASICS,
  COMMON,
  `
local key = P .. ':r:' .. ARGV[6]
if not is_known(ARGV[6]) then return {} end
local found = redis.call('HMGET', key, 'settings', 'tag')
return { string.format('%.0f', redis.call('HSTRLEN', key, 'record')), found[1], found[2] }`,
);

/** Returns 1, 0 if there is no room, or -1 if the tag is another one. */
export const CHANGE = storing(
  BASICS,
  COMMON,
  `
local h, settings, bytes, former, tag = ARGV[6], ARGV[7], num(ARGV[8]), ARGV[9], ARGV[10]
local key = P .. ':r:' .. h
if not is_known(h) then return -1 end
local found = redis.call('HMGET', key, 'tag', 'share')
if found[1] ~= former then return -1 end
if not make_room(h, found[2], bytes) then return 0 end
redis.call('HSET', key, 'settings', settings, 'tag', tag)
local score = redis.call('ZSCORE', P .. ':ru', h)
set_place(h, found[2], bytes, score and num(score) or next_score())
keep()
return 1`,
);

export const TOUCH = freeing(
  BASICS,
  COMMON,
  `
for i = 6, #ARGV do
  local h = ARGV[i]
  local key = P .. ':r:' .. h
  if has_type(':r:' .. h, 'hash') and is_known(h) and has_type(':rs:' .. redis.call('HGET', key, 'share'), 'zset') then
    redis.call('HSET', key, 'used', string.format('%.0f', now))
    -- The numbers of its events, too: no id of an event is used twice.
    for _, name in ipairs({ ':r:', ':s:', ':l:' }) do redis.call('PEXPIRE', P .. name .. h, ttl) end
    local bytes = redis.call('HSTRLEN', key, 'record') + redis.call('HSTRLEN', key, 'settings')
    set_place(h, redis.call('HGET', key, 'share'), bytes, next_score())
  end
end
keep()
return 1`,
);

export const DELETE = freeing(
  BASICS,
  COMMON,
  `
remove(ARGV[6])
return 1`,
);
