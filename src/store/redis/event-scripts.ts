import { freeing, storing } from './commands.ts';

/** Numbers, the time, and the end of a session's events. */
export const BASICS = `
local function now_or(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function num(value) return tonumber(value or 0) or 0 end
-- Whether nobody else has written a key of another type. Scripts ask where the work for one session meets the keys of others.
local function has_type(name, kind)
  local found = redis.call('TYPE', P .. name).ok
  return found == kind or found == 'none'
end
local function forget(h)
  local size = num(redis.call('ZSCORE', P .. ':eb', h))
  redis.call('DEL', P .. ':s:' .. h, P .. ':e:' .. h, P .. ':l:' .. h)
  redis.call('ZREM', P .. ':eb', h)
  redis.call('ZREM', P .. ':ex', h)
  if size > 0 then redis.call('DECRBY', P .. ':et', size) end
end
`;

/**
 * Keys, where `h` is the hash of a session:
 *
 * - `:e:h` is a Redis stream with the events of a session. The id of an entry is the number of the event. Fields: `s` the
 *   stream, `p` the number of the stream's event before, `a` when, `b` its size, `m` the message.
 * - `:s:h` is a hash: `n` is the number of the newest event, `b` and `c` the size and number of the stored ones. A number
 *   is at least ten times the time in milliseconds. A field that begins with `+` describes a stream: its first and newest
 *   number, whether it has ended, and the requests without a response, each as JSON.
 * - `:l:h` has the newest number of each stream as score.
 * - `:eb` has the size of each session, `:ex` when it was last written, and `:et` is the size of all.
 */
const COMMON = `
local function account(h, bytes, count)
  local meta = P .. ':s:' .. h
  local before = num(redis.call('ZSCORE', P .. ':eb', h))
  redis.call('HSET', meta, 'b', bytes, 'c', count)
  if bytes > 0 then redis.call('ZADD', P .. ':eb', bytes, h) else redis.call('ZREM', P .. ':eb', h) end
  redis.call('INCRBY', P .. ':et', bytes - before)
end
-- Drops the oldest events until these limits hold, but not more than this many. Returns how many.
local function trim(h, max_bytes, max_count, before, most)
  local meta, events = P .. ':s:' .. h, P .. ':e:' .. h
  local sizes = redis.call('HMGET', meta, 'b', 'c')
  local bytes, count = num(sizes[1]), num(sizes[2])
  if count == 0 then return 0 end
  local dropped, last, from, most_read = 0, nil, '-', 1
  while count > 0 and dropped < most do
    -- Each is read with its text, and mostly, not even the first one is dropped.
    local page = redis.call('XRANGE', events, from, '+', 'COUNT', most_read)
    most_read = math.min(16, most_read * 2)
    if #page == 0 then
      bytes, count = 0, 0
      break
    end
    local enough = false
    for _, entry in ipairs(page) do
      local fields = entry[2]
      if dropped >= most or not (bytes > max_bytes or count > max_count or num(fields[6]) < before) then
        enough = true
        break
      end
      bytes, count, dropped, last = bytes - num(fields[8]), count - 1, dropped + 1, entry[1]
    end
    if enough then break end
    from = '(' .. last
  end
  if last then redis.call('XTRIM', events, 'MINID', string.format('%.0f', num(string.match(last, '^%d+')) + 1)) end
  if count == 0 then bytes = 0 end
  if dropped > 0 or count == 0 then account(h, bytes, count) end
  return dropped
end
local function stream_of(h, stream)
  local found = redis.call('HGET', P .. ':s:' .. h, '+' .. stream)
  return found and cjson.decode(found)
end
local function save(h, stream, state)
  redis.call('HSET', P .. ':s:' .. h, '+' .. stream, cjson.encode(state))
end
`;

/**
 * Appends events to a stream, opens the stream (`open`), or ends it (`fail`). Then `message` is an error for each request
 * without a response, and `bytes` is what each event takes besides its text. Further events follow the bounds, each as message,
 * bytes, and the request it answers. Events appended together have consecutive numbers. Returns the number of the stream's
 * newest event, or -1 if the stream has ended.
 */
export const APPEND = storing(
  BASICS,
  COMMON,
  `
local h, stream, mode, message, bytes, answered, requests = unpack(ARGV, 1, 7)
local now, max_bytes, max_total, max_count, max_age = now_or(ARGV[8]), num(ARGV[9]), num(ARGV[10]), num(ARGV[11]), num(ARGV[12])
local event_ttl, session_ttl, spent, most = ARGV[13], ARGV[14], num(ARGV[15]), num(ARGV[16])
local meta, events, latest = P .. ':s:' .. h, P .. ':e:' .. h, P .. ':l:' .. h
bytes = num(bytes)
local state = stream_of(h, stream)
if state and mode == 'open' then return string.format('%.0f', state.last) end
if state and state.ended or not state and mode == 'fail' then return '-1' end
local function add(text, size, request)
  -- If Redis loses its data, or the last of it, streams go on. No event must get the number of one that is lost.
  local n = math.max(num(redis.call('HGET', meta, 'n')) + 1, now * 10)
  redis.call('HSET', meta, 'n', string.format('%.0f', n))
  local previous = state and state.last or n - 1
  if not state then
    state = { first = n, ended = false }
    if requests ~= '' then state.requests = cjson.decode(requests) end
  end
  state.last = n
  if request ~= '' and state.requests then
    local left = {}
    for _, other in ipairs(state.requests) do
      if other ~= request then left[#left + 1] = other end
    end
    state.requests = left
    if #left == 0 then state.ended = true end
  end
  if size > max_bytes or max_count < 1 then return end
  local score = redis.call('HMGET', meta, 'b', 'c')
  local total, count = num(score[1]), num(score[2])
  if redis.call('EXISTS', events) == 0 then total, count = 0, 0 end
  redis.call('XADD', events, string.format('%.0f-0', n), 's', stream, 'p', string.format('%.0f', previous), 'a',
    string.format('%.0f', now), 'b', size, 'm', text)
  account(h, total + size, count + 1)
end
if mode == 'fail' then
  for _, request in ipairs(state.requests or {}) do
    local text = '{"jsonrpc":"2.0","id":' .. request .. ',"error":' .. message .. '}'
    add(text, bytes + #text, '')
  end
  state.requests, state.ended = {}, true
else
  add(message, bytes, answered)
  for i = 17, #ARGV, 3 do add(ARGV[i], num(ARGV[i + 1]), ARGV[i + 2]) end
end
save(h, stream, state)
local last = string.format('%.0f', state.last)
redis.call('ZADD', latest, last, stream)
trim(h, max_bytes, max_count, now - max_age, most)
-- Streams without events are remembered, but not without limit.
local surplus = 0
if redis.call('ZCARD', latest) > spent then
  local oldest = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
  surplus = redis.call('ZCOUNT', latest, '-inf', oldest and '(' .. string.match(oldest[1], '^%d+') or '+inf') - spent
end
if surplus > 0 then
  for _, old in ipairs(redis.call('ZRANGE', latest, 0, surplus - 1)) do
    redis.call('HDEL', meta, '+' .. old)
    redis.call('ZREM', latest, old)
  end
end
redis.call('ZADD', P .. ':ex', now, h)
-- The keys of sessions that are silent expire by themselves, so their sizes must not count any more.
for _, old in ipairs(redis.call('ZRANGEBYSCORE', P .. ':ex', '-inf', '(' .. string.format('%.0f', now - max_age), 'LIMIT', 0, 10)) do
  redis.call('DEL', P .. ':e:' .. old)
  if redis.call('EXISTS', P .. ':s:' .. old) == 1 and has_type(':s:' .. old, 'hash') then account(old, 0, 0)
  else
    local size = num(redis.call('ZSCORE', P .. ':eb', old))
    redis.call('ZREM', P .. ':eb', old)
    if size > 0 then redis.call('DECRBY', P .. ':et', size) end
  end
  redis.call('ZREM', P .. ':ex', old)
end
-- Halves the largest sessions, so that not every new event needs this work.
if num(redis.call('GET', P .. ':et')) > max_total then
  while most > 0 and num(redis.call('GET', P .. ':et')) > max_total * 0.9 do
    local largest = redis.call('ZREVRANGE', P .. ':eb', 0, 0, 'WITHSCORES')
    if #largest == 0 then
      redis.call('SET', P .. ':et', 0)
      break
    end
    if has_type(':s:' .. largest[1], 'hash') and has_type(':e:' .. largest[1], 'stream') then
      local dropped = trim(largest[1], num(largest[2]) / 2, max_count, 0, most)
      most = most - math.max(dropped, 1)
    else forget(largest[1]) end
  end
end
redis.call('PEXPIRE', events, event_ttl)
for _, key in ipairs({ meta, latest, P .. ':eb', P .. ':ex', P .. ':et' }) do redis.call('PEXPIRE', key, session_ttl) end
return last`,
);

export const END = freeing(
  BASICS,
  COMMON,
  `
local state = stream_of(ARGV[1], ARGV[2])
if state and not state.ended then
  state.ended = true
  save(ARGV[1], ARGV[2], state)
end
return 1`,
);

/** Whether an event was issued: returns the newest number of its stream and whether that has ended, or nothing. */
const FOUND = `
local h, stream, n = ARGV[1], ARGV[2], num(ARGV[3])
trim(h, math.huge, math.huge, now_or(ARGV[4]) - num(ARGV[5]), 10000)
local state = stream_of(h, stream)
if not state or n < state.first or n > state.last then return {} end
if n < state.last then
  local id = string.format('%.0f-0', n)
  local entry = redis.call('XRANGE', P .. ':e:' .. h, id, id)[1]
  if entry and entry[2][2] ~= stream then return {} end
end
`;

export const FIND = freeing(
  BASICS,
  COMMON,
  FOUND,
  `return { string.format('%.0f', state.last), state.ended and 1 or 0 }`,
);

/**
 * Reads some events of a stream. Returns the newest number of the stream, the number from which to read on or 0 if
 * that is all, and for each event its number, that of the stream's event before, and its message.
 */
export const READ = freeing(
  BASICS,
  COMMON,
  FOUND,
  `
local from, to, events, bytes = num(ARGV[6]), num(ARGV[7]), 0, 0
if to == 0 then to = state.last end
local reply = { string.format('%.0f', state.last), '0' }
local page = redis.call('XRANGE', P .. ':e:' .. h, string.format('%.0f', from), string.format('%.0f', to), 'COUNT', 500)
local last = from
for _, entry in ipairs(page) do
  local fields = entry[2]
  last = num(string.match(entry[1], '^%d+'))
  if fields[2] == stream then
    reply[#reply + 1] = string.format('%.0f', last)
    reply[#reply + 1] = fields[4]
    reply[#reply + 1] = fields[10]
    bytes = bytes + num(fields[8])
    if bytes > 65536 then break end
  end
end
if last < to and (#page == 500 or bytes > 65536) then reply[2] = string.format('%.0f', last + 1) end
return reply`,
);

/** The streams that have not ended, though they were opened for requests: each with the requests, as JSON. */
export const UNFINISHED = freeing(`
local all, reply = redis.call('HGETALL', P .. ':s:' .. ARGV[1]), {}
for i = 1, #all, 2 do
  -- Most streams have ended, and decoding takes time.
  if string.sub(all[i], 1, 1) == '+' and string.find(all[i + 1], '"ended":false', 1, true) then
    local state = cjson.decode(all[i + 1])
    if state.requests and not state.ended then
      reply[#reply + 1] = string.sub(all[i], 2)
      reply[#reply + 1] = cjson.encode(state.requests)
    end
  end
end
return reply`);

export const DROP = freeing(
  BASICS,
  `
forget(ARGV[1])
return 1`,
);
