import { Deferred } from '../../src/base/deferred.ts';
import { startNode } from '../../test/support/process.ts';
import { redisOnPath, startRedis } from '../../test/support/redis-server.ts';
import { openBareRedis } from '../bare-redis.ts';
import { peerScript } from '../processes.ts';
import { progress } from '../rows.ts';
import { sampled, type Sample } from '../sample.ts';
import { add } from './goals.ts';

const WARM_UP = 1;
/** About as long as a call that one process passes on to another. */
const TEXT = 'x'.repeat(400);

/** What two processes need to pass a text through Redis and back, and do nothing else. */
export async function bareRedisRows(seconds: number): Promise<void> {
  const redis = await startRedis(redisOnPath()!);
  const peer = startNode([peerScript('bare-redis'), redis.url, 'there', 'back']);
  try {
    await peer.line(/^ready$/);
    for (const inFlight of [1, 64]) {
      progress(`cluster, bare Redis: ${inFlight} in flight`);
      const sample = await repeat(redis.url, inFlight, seconds);
      const shown = inFlight === 1 ? '' : `${Math.round(sample.perSecond)} texts/s`;
      add(`a text through Redis to another process and back, ${inFlight} in flight`, 'bare', shown, undefined, sample);
    }
  } finally {
    await peer.stop(0);
    await redis.stop();
  }
}

/** Sends a text for each that comes back. They come in order. */
async function repeat(url: string, inFlight: number, seconds: number): Promise<Sample> {
  const latencies: number[] = [];
  const sent: number[] = [];
  const begin = performance.now() + WARM_UP * 1000;
  const end = begin + seconds * 1000;
  const over = new Deferred();
  const pair = await openBareRedis(url, { from: 'back', to: 'there' }, (_, send) => {
    const now = performance.now();
    const since = sent.shift()!;
    if (since >= begin) latencies.push(now - since);
    if (now < end) next(send);
    else if (sent.length === 0) over.resolve();
  });
  const next = (send: (text: string) => void): void => {
    sent.push(performance.now());
    send(TEXT);
  };
  for (let count = 0; count < inFlight; count += 1) next(pair.send);
  await over.promise;
  await pair.close();
  return sampled(latencies, performance.now() - begin);
}
