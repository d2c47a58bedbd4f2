import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { deferred, settled } from '../../test/support/service.ts';
import type { Exchange, Session } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Floor } from './floor.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

/** A call of a caller without a session, and the two ends of it. */
function calling(floor: Floor, name: string, session?: Session) {
  const answers: ((answer: JsonObject) => void)[] = [];
  const outcome = deferred<JsonObject>();
  const exchange = new TestExchange(
    'tools/call',
    { name },
    { onask: () => new Promise((resolve) => void answers.push(resolve)), caller: { session } },
  );
  const call = {
    exchange,
    /** What the server has been given. */
    given: undefined as Exchange | undefined,
    reply: (answer: JsonObject) => answers.shift()!(answer),
    finish: () => outcome.resolve({ name }),
    fail: () => outcome.reject(new Error('failed')),
    /** Its caller gives it up, and whoever passes it on does so too. */
    giveUp: () => {
      exchange.abort();
      outcome.reject(new Error('given up'));
    },
    done: Promise.resolve<JsonObject>({}),
  };
  call.done = floor.answer((given) => {
    call.given = given;
    return outcome.promise;
  }, exchange);
  call.done.catch(() => {});
  return call;
}

/** Why a question was nobody's. */
async function failure(whose: ReturnType<Floor['question']>): Promise<unknown> {
  try {
    return await whose;
  } catch (error) {
    return error;
  }
}

/** Lets a tool be known as one that does not ask. */
async function known(floor: Floor, ...names: string[]): Promise<void> {
  for (const name of names) {
    const call = calling(floor, name);
    await settled();
    call.finish();
    await call.done;
  }
}

test('calls of tools that nobody knows go one after the other', async () => {
  const floor = new Floor();
  const [one, two] = [calling(floor, 'a'), calling(floor, 'b')];
  await settled();
  expect([one.given !== undefined, two.given, floor.waiting]).toEqual([true, undefined, 1]);
  one.finish();
  await settled();
  expect([two.given !== undefined, floor.waiting]).toEqual([true, 0]);
  two.finish();
  expect(await two.done).toEqual({ name: 'b' });
  expect(floor.isFreeFor(new TestExchange('tools/call'))).toBe(true);
});

test('tools that never asked go together, and the question of one waits until the other is done', async () => {
  const floor = new Floor();
  await known(floor, 'a', 'b');
  const [one, two] = [calling(floor, 'a'), calling(floor, 'b')];
  await settled();
  expect(two.given).toBeDefined();
  const whose = Promise.resolve(floor.question(never));
  const third = calling(floor, 'a');
  await settled();
  expect(third.given).toBeUndefined();
  one.finish();
  expect(await whose).toBe(two.given);
  two.finish();
  await settled();
  // It is known to ask from now on.
  const fourth = calling(floor, 'b');
  await settled();
  expect([third.given !== undefined, fourth.given]).toEqual([true, undefined]);
});

test('where each of two may have asked, neither is asked, and both are alone from then on', async () => {
  const floor = new Floor();
  await known(floor, 'a', 'b');
  const [one, two] = [calling(floor, 'a'), calling(floor, 'b')];
  await settled();
  const whose = [failure(floor.question(never)), failure(floor.question(never))];
  const message = expect.stringContaining('whose question');
  expect(await Promise.all(whose)).toMatchObject([{ message }, { message }]);
  one.finish();
  two.finish();
  await settled();
  const [three, four] = [calling(floor, 'a'), calling(floor, 'b')];
  await settled();
  expect([three.given !== undefined, four.given]).toEqual([true, undefined]);
});

test('a question that is nobody’s within half a minute is refused, and others may go on', async () => {
  const floor = new Floor();
  await known(floor, 'a', 'b');
  calling(floor, 'a');
  calling(floor, 'b');
  await settled();
  const refused = failure(floor.question(never));
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await refused).toMatchObject({ code: -32603 });
  const next = calling(floor, 'a');
  await settled();
  expect(next.given).toBeDefined();
});

test('a question that is taken back while it is not known whose it is holds nobody up', async () => {
  const floor = new Floor();
  await known(floor, 'a', 'b');
  calling(floor, 'a');
  calling(floor, 'b');
  await settled();
  const controller = new AbortController();
  const refused = failure(floor.question(controller.signal));
  controller.abort(new Error('never mind'));
  expect(await refused).toMatchObject({ message: 'never mind' });
  const next = calling(floor, 'a');
  await settled();
  expect(next.given).toBeDefined();
  expect(vi.getTimerCount()).toBe(0);
});

test('a call leaves the floor while its caller thinks, and is back before the server has the answer', async () => {
  const floor = new Floor();
  const one = calling(floor, 'a');
  await settled();
  const whose = await floor.question(never);
  const answer = whose!.ask('elicitation/create', {});
  const two = calling(floor, 'b');
  await vi.advanceTimersByTimeAsync(9);
  expect([one.exchange.asked.length, two.given]).toEqual([1, undefined]);
  await vi.advanceTimersByTimeAsync(1);
  expect(two.given).toBeDefined();
  let had = false;
  void answer.then(() => (had = true));
  one.reply({ action: 'accept' });
  await settled();
  expect(had).toBe(false);
  two.finish();
  await settled();
  expect(had).toBe(true);
  one.finish();
  expect(await one.done).toEqual({ name: 'a' });
  expect(floor.isFreeFor(new TestExchange('tools/call'))).toBe(true);
});

test('a call that is given up while it waits is not made, and keeps nobody waiting', async () => {
  const floor = new Floor();
  const one = calling(floor, 'a');
  const two = calling(floor, 'b');
  const three = calling(floor, 'c');
  await settled();
  two.exchange.abort();
  await expect(two.done).rejects.toThrow('aborted');
  one.finish();
  await settled();
  expect([two.given, three.given !== undefined]).toEqual([undefined, true]);
});

test('a call whose server does not wait for the answer does not come back for it', async () => {
  const floor = new Floor();
  const one = calling(floor, 'a');
  await settled();
  const answer = (await floor.question(never))!.ask('elicitation/create', {});
  const two = calling(floor, 'b');
  await vi.advanceTimersByTimeAsync(10);
  expect(two.given).toBeDefined();
  one.reply({ action: 'accept' });
  await settled();
  one.finish();
  await one.done;
  expect(await answer).toEqual({ action: 'accept' });
  two.finish();
  await two.done;
  expect([floor.isFreeFor(one.exchange), floor.waiting]).toEqual([true, 0]);
});

test('what is asked before the first call is asked with it', async () => {
  const floor = new Floor();
  const whose = floor.question(never);
  const one = calling(floor, 'a');
  expect(await whose).toBe(one.given);
});

test('what is asked outside of calls is asked nobody where the callers are strangers', async () => {
  const floor = new Floor(true);
  expect(await failure(floor.question(never))).toMatchObject({ code: -32603 });
});

test('a question that could be of a list waits until that is answered', async () => {
  const floor = new Floor();
  const list = deferred<JsonObject>();
  const listed = floor.answer(() => list.promise, new TestExchange('tools/list'));
  const one = calling(floor, 'a');
  await settled();
  let found = false;
  const whose = Promise.resolve(floor.question(never)).finally(() => (found = true));
  await settled();
  expect([found, floor.message()]).toEqual([false, one.given]);
  list.resolve({});
  await listed;
  expect(await whose).toBe(one.given);
});

test('a tool that never asked is not asked for one that waits for its answer, and what is logged then is nobody’s', async () => {
  const floor = new Floor(true);
  await known(floor, 'b');
  const one = calling(floor, 'a');
  await settled();
  void (await floor.question(never))!.ask('elicitation/create', {});
  await vi.advanceTimersByTimeAsync(10);
  const two = calling(floor, 'b');
  await settled();
  expect([two.given !== undefined, floor.message()]).toEqual([true, undefined]);
  expect(await failure(floor.question(never))).toMatchObject({ code: -32603 });
  two.finish();
  await settled();
  expect(one.exchange.asked).toHaveLength(1);
});

test('nobody waits for long for a call that does not end, but tools that ask', async () => {
  const floor = new Floor();
  await known(floor, 'quiet');
  const asking = calling(floor, 'asking');
  await settled();
  const answer = (await floor.question(never))!.ask('elicitation/create', {});
  asking.reply({});
  await answer;
  asking.finish();
  await asking.done;
  calling(floor, 'endless');
  await settled();
  const [one, two, three] = ['asking', 'quiet', 'new'].map((name) => calling(floor, name));
  await vi.advanceTimersByTimeAsync(1999);
  expect([one!.given, two!.given, three!.given]).toEqual([undefined, undefined, undefined]);
  await vi.advanceTimersByTimeAsync(1);
  expect([one!.given, two!.given !== undefined]).toEqual([undefined, true]);
  two!.finish();
  await settled();
  expect(three!.given).toBeDefined();
});

test('a call that was given up is no longer asked, and what its server still asks for it is nobody else’s', async () => {
  const floor = new Floor(true);
  const one = calling(floor, 'a');
  await settled();
  one.giveUp();
  await settled();
  const two = calling(floor, 'b');
  await settled();
  expect(two.given).toBeDefined();
  const whose = failure(floor.question(never));
  await vi.advanceTimersByTimeAsync(29_999);
  const third = calling(floor, 'b');
  await settled();
  expect(third.given).toBeUndefined();
  // The server has had time enough to heed it.
  await vi.advanceTimersByTimeAsync(1);
  expect(await whose).toBe(two.given);
});

test('a call that was given up is out of the way when the server answers it all the same', async () => {
  const floor = new Floor();
  const one = calling(floor, 'a');
  await settled();
  one.giveUp();
  await settled();
  expect(await failure(floor.question(never))).toMatchObject({ code: -32603 });
  const two = calling(floor, 'b');
  await settled();
  const whose = failure(floor.question(never));
  floor.over(one.given!);
  expect(await whose).toBe(two.given);
});

test('who comes back to a floor that is taken, and is over meanwhile, is not waited for', async () => {
  const floor = new Floor();
  const one = calling(floor, 'a');
  await settled();
  // It came on the stream of its call: nobody had to be asked whose it is.
  const answer = one.given!.ask('elicitation/create', {});
  await vi.advanceTimersByTimeAsync(10);
  const two = calling(floor, 'b');
  await settled();
  one.reply({ action: 'accept' });
  await settled();
  one.finish();
  await one.done;
  await answer;
  two.finish();
  await two.done;
  const three = calling(floor, 'c');
  await settled();
  expect(three.given).toBeDefined();
});

test('a caller that still thinks about another question is off the floor again', async () => {
  const floor = new Floor();
  const one = calling(floor, 'a');
  await settled();
  for (let n = 0; n < 2; n += 1) void (await floor.question(never))!.ask('elicitation/create', {});
  await vi.advanceTimersByTimeAsync(10);
  one.reply({ action: 'accept' });
  const two = calling(floor, 'b');
  await vi.advanceTimersByTimeAsync(10);
  expect(two.given).toBeDefined();
});

test('a question while calls of one session wait for their answers is of that session', async () => {
  const floor = new Floor();
  const session = { id: 's', signal: never };
  const calls = [calling(floor, 'a', session), calling(floor, 'b', session)];
  await settled();
  for (const { given } of calls) void given!.ask('elicitation/create', {});
  await vi.advanceTimersByTimeAsync(10);
  expect(await floor.question(never)).toBe(calls[1]!.given);
});

test('a tool that asked and then failed is one that asks', async () => {
  const floor = new Floor();
  await known(floor, 'a', 'b');
  const one = calling(floor, 'a');
  await settled();
  void (await floor.question(never))!.ask('elicitation/create', {});
  one.fail();
  await settled();
  const [two, three] = [calling(floor, 'a'), calling(floor, 'b')];
  await settled();
  expect([two.given !== undefined, three.given]).toEqual([true, undefined]);
});

test('a call that was given up is in the way of those alone that ask', async () => {
  const floor = new Floor(true);
  const one = calling(floor, 'a');
  await settled();
  const answer = (await floor.question(never))!.ask('elicitation/create', {});
  one.reply({});
  await answer;
  one.giveUp();
  await settled();
  const free = ['a', 'b'].map((name) => floor.isFreeFor(new TestExchange('tools/call', { name })));
  expect(free).toEqual([false, true]);
});
