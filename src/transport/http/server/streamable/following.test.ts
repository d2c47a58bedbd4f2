import { expect, test } from 'vitest';
import { memoryBus } from '../../../../store/memory-bus.ts';
import { Following, type Follower } from './following.ts';

test('one client follows at most 1,000 streams at a time, and others can follow theirs', async () => {
  const join = memoryBus();
  const followers: Follower[] = [];
  const writer = new Following(join('a'));
  writer.serve('s', (_about, _stream, follower) => {
    followers.push(follower);
    return () => {};
  });
  const following = new Following(join('b'));
  const follow = (share: string) =>
    following.follow(
      { writer: 'a', stream: '1', session: { session: 's' }, share },
      { take: () => {} },
      new AbortController().signal,
    );
  const many = Array.from({ length: 1000 }, () => follow('one'));
  await expect(follow('one')).rejects.toThrow('Too many messages of one client');
  const other = follow('other');
  await expect.poll(() => followers.length).toBe(1001);
  for (const { stop } of followers) stop('ended');
  expect(new Set(await Promise.all([...many, other]))).toEqual(new Set(['ended']));
  const later = follow('one');
  await expect.poll(() => followers.length).toBe(1002);
  followers.at(-1)!.stop('taken');
  expect(await later).toBe('taken');
  writer.close();
  following.close();
});
