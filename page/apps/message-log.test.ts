import { expect, test } from 'vitest';
import { Deferred } from '../../src/base/deferred.ts';
import type { Server } from '../server/server.ts';
import { MessageLog } from './message-log.ts';

/** A server whose answers a test gives. */
class World {
  readonly sent: { readonly name: string; readonly texts: readonly string[]; readonly done: Deferred }[] = [];
  readonly log: MessageLog;

  constructor() {
    const send = (name: string, argument: { readonly messages?: readonly { readonly text: string }[] }) => {
      const done = new Deferred();
      this.sent.push({ name, texts: (argument.messages ?? []).map(({ text }) => text), done });
      return done.promise;
    };
    this.log = new MessageLog({ send } as unknown as Pick<Server, 'send'>, 7);
  }

  /** What was sent, without long texts. */
  get commands(): unknown[] {
    return this.sent.map(({ name, texts }) => [name, texts.map((text) => (text.length > 9 ? text.length : text))]);
  }
}

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('messages that come while a command runs go out with the next one, in their order', async () => {
  const world = new World();
  for (const text of ['a', 'b', 'c']) world.log.add('app', text);
  expect(world.commands).toEqual([['recordApp', ['a']]]);
  world.sent[0]!.done.resolve();
  await settle();
  expect(world.commands.slice(1)).toEqual([['recordApp', ['b', 'c']]]);
});

test('an app is closed after its messages were added, also if the server has refused some', async () => {
  const world = new World();
  world.log.add('app', 'a');
  world.log.add('host', 'b');
  world.log.close();
  world.sent[0]!.done.reject(new Error('gone'));
  await settle();
  expect(world.commands).toEqual([
    ['recordApp', ['a']],
    ['recordApp', ['b']],
  ]);
  world.sent[1]!.done.resolve();
  await settle();
  expect(world.commands.at(-1)).toEqual(['closeApp', []]);
});

test('one command carries at most 8 Mi characters, or a single longer message', async () => {
  const world = new World();
  const large = 'x'.repeat(5 * 1024 * 1024);
  const larger = 'x'.repeat(9 * 1024 * 1024);
  for (const text of ['a', large, large, larger, 'b']) world.log.add('app', text);
  for (let at = 0; at < 4; at += 1) {
    world.sent[at]!.done.resolve();
    await settle();
  }
  expect(world.commands).toEqual([
    ['recordApp', ['a']],
    ['recordApp', [large.length]],
    ['recordApp', [large.length]],
    ['recordApp', [larger.length]],
    ['recordApp', ['b']],
  ]);
});
