import { openBareRedis } from '../bare-redis.ts';

/** Sends each text back. Arguments: the URL of a Redis, the stream to read, the stream to write. */

const [, , url, from, to] = process.argv;
await openBareRedis(url!, { from: from!, to: to! }, (text, send) => send(text));
console.error('ready');
