import { freeing } from './commands.ts';

/** The commands of a state whose first argument is a key. */
export const OF_KEYS: readonly string[] = [
  ...['DECRBY', 'DEL', 'EXISTS', 'GET', 'INCRBY', 'MGET', 'PEXPIRE', 'PTTL', 'SET', 'TYPE'],
  ...['HDEL', 'HGET', 'HGETALL', 'HINCRBY', 'HMGET', 'HSET', 'HSTRLEN', 'SADD', 'SMEMBERS', 'SREM'],
  ...['XADD', 'XDEL', 'XLEN', 'XRANGE', 'XTRIM', 'ZADD', 'ZCARD', 'ZCOUNT', 'ZINCRBY', 'ZRANGE', 'ZRANGEBYSCORE'],
  ...['ZREM', 'ZREMRANGEBYSCORE', 'ZREVRANGE', 'ZREVRANGEBYSCORE', 'ZSCORE'],
];
/** The others. */
export const OTHERS: readonly string[] = ['EVAL', 'EVALSHA', 'TIME', 'XREAD'];

/** Changes nothing. Arguments: `OF_KEYS`. Returns the commands that the user may not run, also those of `OTHERS`. */
export const CHECK = freeing(`
local key, lacking = P .. ':any', {}
local function check(name, ...)
  if not redis.acl_check_cmd(name, ...) then lacking[#lacking + 1] = name end
end
check('EVAL', 'return 1', '1', P)
check('EVALSHA', string.rep('0', 40), '1', P)
check('TIME')
check('XREAD', 'STREAMS', key, '0')
for _, name in ipairs(ARGV) do check(name, key) end
return lacking
`);
