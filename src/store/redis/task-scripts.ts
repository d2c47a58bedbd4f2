import { freeing, storing } from './commands.ts';
import { BASICS } from './event-scripts.ts';

/**
 * Keys, where `i` is the hash of a task id:
 *
 * - `:t:i` is a hash: `text` the task, `tag` another one after each change, `owner`, `until` and `over`.
 * - `:tu` has the time at which each task expires as score. `:ti` says how large it is, whose part of the limits it uses, and its runner.
 * - `:tn` has the number of tasks of each share, `:tb` their size, and `:tt` is the size of all.
 * - `:tr:r` is the set of the tasks of a runner.
 */
const COMMON = `
local function count(share, tasks, bytes)
  redis.call('INCRBY', P .. ':tt', bytes)
  redis.call('HINCRBY', P .. ':tb', share, bytes)
  if redis.call('HINCRBY', P .. ':tn', share, tasks) <= 0 then
    redis.call('HDEL', P .. ':tn', share)
    redis.call('HDEL', P .. ':tb', share)
  end
end
local function remove(id)
  local known = redis.call('HGET', P .. ':ti', id)
  redis.call('DEL', P .. ':t:' .. id)
  redis.call('ZREM', P .. ':tu', id)
  if not known then return end
  redis.call('HDEL', P .. ':ti', id)
  local about = cjson.decode(known)
  -- If somebody else has written a key of another type there, that must not keep others from removing this task.
  redis.pcall('SREM', P .. ':tr:' .. about[3], id)
  count(about[2], -1, -about[1])
end
local function sweep(now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. ':tu', '-inf', string.format('%.0f', now), 'LIMIT', 0, 100)) do remove(id) end
end
local function room(share, bytes, max_bytes, part)
  if num(redis.call('GET', P .. ':tt')) + bytes > max_bytes then return 'bytes' end
  if share ~= '-' and num(redis.call('HGET', P .. ':tb', share)) + bytes > part then return 'share' end
end
local function save(id, text, tag, owner, over, until_, now, bytes, share, runner, index_ttl)
  local key = P .. ':t:' .. id
  redis.call('HSET', key, 'text', text, 'tag', tag, 'owner', owner, 'over', over, 'until', string.format('%.0f', until_))
  redis.call('PEXPIRE', key, string.format('%.0f', math.max(until_ - now, 0) + 60000))
  redis.call('ZADD', P .. ':tu', until_, id)
  redis.call('HSET', P .. ':ti', id, cjson.encode({ bytes, share, runner }))
  redis.call('SADD', P .. ':tr:' .. runner, id)
  for _, name in ipairs({ ':tu', ':ti', ':tn', ':tb', ':tt', ':tr:' .. runner }) do
    local ttl = math.max(until_ - now + 120000, index_ttl)
    if redis.call('PTTL', P .. name) < ttl then redis.call('PEXPIRE', P .. name, string.format('%.0f', ttl)) end
  end
end
local function find(id, owner, now)
  local found = redis.call('HMGET', P .. ':t:' .. id, 'owner', 'until', 'text', 'tag', 'over')
  if not found[1] or found[1] ~= owner then return nil end
  if num(found[2]) <= now then
    remove(id)
    return nil
  end
  return found
end
local id, owner, now = ARGV[1], ARGV[2], now_or(ARGV[3])
-- With the clock of Redis, the time of expiry counts from now. After a plus sign, it counts from the former one.
local function expiry(given, former)
  if ARGV[3] ~= '' then return num(given) end
  local more = string.match(given, '^%+(.*)')
  return more and num(former) + num(more) or now + num(given)
end
`;

/** Returns what stands against it, or nothing. */
export const CREATE = storing(
  BASICS,
  COMMON,
  `
local runner, text, tag, over, until_, bytes = ARGV[4], ARGV[5], ARGV[6], ARGV[7], expiry(ARGV[8]), num(ARGV[9])
local share, max_tasks, max_own = ARGV[10], num(ARGV[11]), num(ARGV[12])
local max_bytes, part, index_ttl = num(ARGV[13]), num(ARGV[14]), num(ARGV[15])
sweep(now)
if redis.call('EXISTS', P .. ':t:' .. id) == 1 then return 'exists' end
if redis.call('ZCARD', P .. ':tu') >= max_tasks then return 'tasks' end
if share ~= '-' and num(redis.call('HGET', P .. ':tn', share)) >= max_own then return 'own' end
local full = room(share, bytes, max_bytes, part)
if full then return full end
count(share, 1, bytes)
save(id, text, tag, owner, over, until_, now, bytes, share, runner, index_ttl)
return ''`,
);

/** Returns the text, the tag and whether the task is over; or nothing. */
export const GET = freeing(
  BASICS,
  COMMON,
  `
local found = find(id, owner, now)
if not found then return {} end
return { found[3], found[4], found[5] }`,
);

/** Returns `again` if the tag is another one, what stands against it, or nothing. */
export const REPLACE = storing(
  BASICS,
  COMMON,
  `
local runner, text, tag, over, bytes = ARGV[4], ARGV[5], ARGV[6], ARGV[7], num(ARGV[9])
local share, max_bytes, part, index_ttl, former = ARGV[10], num(ARGV[11]), num(ARGV[12]), num(ARGV[13]), ARGV[14]
local found = find(id, owner, now)
if not found or found[4] ~= former then return 'again' end
local until_ = expiry(ARGV[8], found[2])
sweep(now)
local known = redis.call('HGET', P .. ':ti', id)
local before = known and num(cjson.decode(known)[1]) or 0
local full = room(share, bytes - before, max_bytes, part)
if full then return full end
count(share, known and 0 or 1, bytes - before)
save(id, text, tag, owner, over, until_, now, bytes, share, runner, index_ttl)
return ''`,
);

export const DELETE = freeing(
  BASICS,
  COMMON,
  `
if find(id, owner, now) then remove(id) end
return 1`,
);

/** The texts of the tasks of a runner that have not ended. */
export const UNFINISHED = freeing(
  BASICS,
  `
local reply, now = {}, now_or(ARGV[2])
for _, id in ipairs(redis.call('SMEMBERS', P .. ':tr:' .. ARGV[1])) do
  local found = redis.call('HMGET', P .. ':t:' .. id, 'text', 'until', 'over')
  if found[1] and tonumber(found[2]) > now and found[3] ~= '1' then reply[#reply + 1] = found[1] end
end
return reply`,
);
