import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import { TestExchange } from '../../test/support/exchange.ts';
import { processorTime } from '../../test/support/processor-time.ts';
import { deferred, settled } from '../../test/support/service.ts';
import { NotAsked, type Exchange, type Session } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { QuestionAttribution } from './question-attribution.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

/** A call and its two ends. Without a session, each call belongs to another client. */
function calling(attribution: QuestionAttribution, name: string, session?: Session) {
  const answers: ((answer: JsonObject) => void)[] = [];
  const outcome = deferred<JsonObject>();
  const exchange = new TestExchange(
    'tools/call',
    { name },
    { onask: () => new Promise((resolve) => void answers.push(resolve)), caller: { session } },
  );
  const call = {
    exchange,
    /** The requests that the server received. */
    given: undefined as Exchange | undefined,
    reply: (answer: JsonObject) => answers.shift()!(answer),
    finish: () => outcome.resolve({ name }),
    fail: () => outcome.reject(new Error('failed')),
    /** Cancels the call as its client would. Returns what the connection calls when the server has answered it. */
    cancel: () => {
      exchange.abort();
      const over = attribution.cancelled(call.given!);
      outcome.reject(new Error('cancelled'));
      return over!;
    },
    done: Promise.resolve<JsonObject>({}),
  };
  call.done = attribution.answer((given) => {
    call.given = given;
    return outcome.promise;
  }, exchange);
  call.done.catch(() => {});
  return call;
}

/** The reason why a question was refused. */
async function failure(whose: Exchange | Promise<unknown>): Promise<unknown> {
  try {
    return await whose;
  } catch (error) {
    return error;
  }
}

/** Calls tools that do not ask. */
async function known(attribution: QuestionAttribution, ...names: string[]): Promise<void> {
  for (const name of names) {
    const call = calling(attribution, name);
    await settled();
    call.finish();
    await call.done;
  }
}

/** Calls tools that ask. */
async function asking(attribution: QuestionAttribution, ...names: string[]): Promise<void> {
  for (const name of names) {
    const call = calling(attribution, name);
    await settled();
    const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
    call.reply({});
    await answer;
    call.finish();
    await call.done;
  }
}

/** The server asks. Returns the call that is asked, as soon as that is known. */
async function asksThrough(attribution: QuestionAttribution, label: string): Promise<Exchange> {
  const { signal } = new AbortController();
  const exchange = await attribution.question(signal);
  void exchange.ask('elicitation/create', { label }, { signal }).catch(() => {});
  return exchange;
}

/** The parameters of a question that belongs to a task. */
const inTask = (taskId: string): JsonObject => ({ _meta: { 'io.modelcontextprotocol/related-task': { taskId } } });

test('calls of unknown tools take turns', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const [one, two] = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  expect([one.given !== undefined, two.given, attribution.waiting]).toEqual([true, undefined, 1]);
  one.finish();
  await settled();
  expect([two.given !== undefined, attribution.waiting]).toEqual([true, 0]);
  two.finish();
  expect(await two.done).toEqual({ name: 'b' });
});

test('a tool whose result is a question is not known to be quiet', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await attribution.answer(
    () => Promise.resolve({ resultType: 'input_required', requestState: 's' }),
    new TestExchange('tools/call', { name: 'a' }),
    false,
  );
  const [one, two] = [calling(attribution, 'a'), calling(attribution, 'a')];
  await settled();
  expect([one.given !== undefined, two.given, attribution.waiting]).toEqual([true, undefined, 1]);
  one.finish();
  two.finish();
  await Promise.all([one.done, two.done]);
});

test('calls of tools that do not ask run in parallel, and a session gets every question of its own', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b', 'c');
  const session = { id: 's', signal: never };
  const calls = ['a', 'b', 'c'].map((name) => calling(attribution, name, session));
  await settled();
  expect(calls.every(({ given }) => given)).toBe(true);
  expect(await attribution.question(never)).toBe(calls[2]!.given);
});

test('a call that needs no turn reaches the server at once', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a');
  const call = calling(attribution, 'a');
  expect(call.given).toBeDefined();
  call.finish();
  await call.done;
});

test('a question whose call is named says nothing of other calls of its client', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'naming');
  await asking(attribution, 'asking');
  const session = { id: 's', signal: never };
  const [named, unnamed] = [calling(attribution, 'naming', session), calling(attribution, 'asking', session)];
  const other = calling(attribution, 'asking');
  await settled();
  void named.given!.ask('roots/list', {}, { signal: new AbortController().signal });
  await vi.advanceTimersByTimeAsync(100);
  expect([unnamed.given !== undefined, other.given]).toEqual([true, undefined]);
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  expect(named.exchange.asked.length + unnamed.exchange.asked.length).toBe(2);
});

test('calls of tools that ask run one at a time, also those of one client', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const session = { id: 's', signal: never };
  await asking(attribution, 'asking');
  const [one, two] = [calling(attribution, 'asking', session), calling(attribution, 'asking', session)];
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  expect([one.exchange.asked.length, two.given]).toEqual([1, undefined]);
  await vi.advanceTimersByTimeAsync(50);
  expect(two.given).toBeDefined();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  expect([one.exchange.asked.length, two.exchange.asked.length]).toEqual([1, 1]);
  await vi.advanceTimersByTimeAsync(50);
  one.reply({ n: 1 });
  expect(await answer).toEqual({ n: 1 });
});

test('a call that has run for two seconds delays no others, nor do further calls of its tool', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  for (let n = 0; n < 50; n += 1) calling(attribution, 'endless');
  const last = calling(attribution, 'new');
  await vi.advanceTimersByTimeAsync(1999);
  expect(last.given).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(last.given).toBeDefined();
  expect(attribution.waiting).toBe(0);
});

test('a call of a tool that is known to ask delays such calls as long as it runs', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  const long = calling(attribution, 'asking');
  const next = calling(attribution, 'asking');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(next.given).toBeUndefined();
  long.finish();
  await settled();
  expect(next.given).toBeDefined();
});

test('a call gives up its turn 50 ms after a question that it may have asked', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  const session = { id: 's', signal: never };
  calling(attribution, 'slow', session);
  await vi.advanceTimersByTimeAsync(2000);
  calling(attribution, 'asking', session);
  const next = calling(attribution, 'asking');
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  await vi.advanceTimersByTimeAsync(49);
  expect(next.given).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(next.given).toBeDefined();
});

test('a tool that has asked once takes turns from then on', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a');
  await asking(attribution, 'a');
  await known(attribution, 'a');
  const calls = [calling(attribution, 'a'), calling(attribution, 'a')];
  await settled();
  expect(calls.map(({ given }) => given !== undefined)).toEqual([true, false]);
});

test('a tool that never asked does not wait, even while a question waits', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b', 'quiet');
  const [one, two] = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  const whose = Promise.resolve(attribution.question(never));
  const quiet = calling(attribution, 'quiet');
  await settled();
  expect(quiet.given).toBeDefined();
  // The call came after the question, so it cannot have asked.
  one.finish();
  expect(await whose).toBe(two.given);
});

test('if each of two clients may have asked, both questions are refused, and these tools take turns again', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  const [one, two] = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  const refused = [failure(attribution.question(never)), failure(attribution.question(never))];
  await vi.advanceTimersByTimeAsync(10_000);
  const message = expect.stringContaining('--per-session');
  expect(await Promise.all(refused)).toMatchObject([
    { code: -32603, message },
    { code: -32603, message },
  ]);
  one.finish();
  two.finish();
  await settled();
  const [three, four] = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  expect([three.given !== undefined, four.given]).toEqual([true, undefined]);
});

test('a question of a tool that seldom asks reaches its own client, or nobody', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'seldom');
  const [one, two] = [calling(attribution, 'seldom'), calling(attribution, 'asking')];
  await settled();
  const refused = failure(attribution.question(never));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await refused).toMatchObject({ code: -32603 });
  const whose = Promise.resolve(attribution.question(never));
  two.finish();
  expect(await whose).toBe(one.given);
});

test('questions that wait for the end of another call do not wait for each other', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  await asking(attribution, 'asking');
  const quiet = calling(attribution, 'quiet');
  const calls = Array.from({ length: 20 }, () => calling(attribution, 'asking'));
  const asked: Promise<Exchange>[] = [];
  for (const call of calls) {
    await vi.advanceTimersByTimeAsync(50);
    expect(call.given).toBeDefined();
    asked.push(Promise.resolve(attribution.question(new AbortController().signal)));
  }
  expect(await Promise.race([...asked, Promise.resolve('none')])).toBe('none');
  quiet.finish();
  expect(await Promise.all(asked)).toEqual(calls.map(({ given }) => given));
});

test('a call of an unknown tool that runs for long may still ask', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const long = calling(attribution, 'slow');
  await vi.advanceTimersByTimeAsync(2000);
  const other = calling(attribution, 'other');
  await settled();
  const whose = Promise.resolve(attribution.question(never));
  other.finish();
  expect(await whose).toBe(long.given);
});

test('a question that cannot be attributed for 10 seconds is refused', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  calling(attribution, 'a');
  calling(attribution, 'b');
  await settled();
  const refused = failure(attribution.question(never));
  await vi.advanceTimersByTimeAsync(9_999);
  let over = false;
  void refused.then(() => (over = true));
  await settled();
  expect(over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await refused).toMatchObject({ code: -32603 });
});

test('a call that has asked since may still have asked each question that waits', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const other = calling(attribution, 'slow');
  await vi.advanceTimersByTimeAsync(2000);
  other.exchange.abort();
  attribution.cancelled(other.given!)!();
  calling(attribution, 'a');
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  calling(attribution, 'slow');
  await settled();
  const refused = [failure(attribution.question(never))];
  await vi.advanceTimersByTimeAsync(1);
  refused.push(failure(attribution.question(never)));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await Promise.all(refused)).toMatchObject([{ code: -32603 }, { code: -32603 }]);
});

test('a question that the server cancels leaves nothing behind', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  calling(attribution, 'a');
  calling(attribution, 'b');
  await settled();
  const controller = new AbortController();
  const refused = failure(attribution.question(controller.signal));
  controller.abort(new Error('never mind'));
  expect(await refused).toMatchObject({ message: 'never mind' });
  expect(vi.getTimerCount()).toBe(0);
});

test('while a client answers, calls of other clients run, and the server gets the answer when they have ended', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  const two = calling(attribution, 'b');
  // Questions asked together arrive together.
  await vi.advanceTimersByTimeAsync(49);
  expect([one.exchange.asked.length, two.given]).toEqual([1, undefined]);
  await vi.advanceTimersByTimeAsync(1);
  expect(two.given).toBeDefined();
  let answered = false;
  void answer.then(() => (answered = true));
  one.reply({ action: 'accept' });
  await settled();
  expect(answered).toBe(false);
  two.finish();
  await settled();
  expect(answered).toBe(true);
  one.finish();
  expect(await one.done).toEqual({ name: 'a' });
  expect(attribution.waiting).toBe(0);
});

test('after the server has taken a question back, the next one reaches no other client', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  const controller = new AbortController();
  const { signal } = controller;
  const asked = failure((await attribution.question(signal)).ask('elicitation/create', {}, { signal }));
  const two = calling(attribution, 'b');
  await vi.advanceTimersByTimeAsync(50);
  expect(two.given).toBeDefined();
  controller.abort(new Error('too late'));
  const next = Promise.resolve(attribution.question(never));
  one.reply({});
  await asked;
  two.finish();
  expect((await next) === one.given).toBe(true);
});

test('a call that continues with an answer goes before calls that have not started', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  const two = calling(attribution, 'b');
  await vi.advanceTimersByTimeAsync(50);
  const three = calling(attribution, 'c');
  one.reply({});
  await settled();
  two.finish();
  await answer;
  await settled();
  expect(three.given).toBeUndefined();
});

test('a call that is cancelled while it waits never runs, and blocks no other call', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  const two = calling(attribution, 'b');
  const three = calling(attribution, 'c');
  await settled();
  two.exchange.abort();
  await expect(two.done).rejects.toThrow('aborted');
  one.finish();
  await settled();
  expect([two.given, three.given !== undefined]).toEqual([undefined, true]);
});

test('a call that finishes right after its answer does not take a turn again', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  const two = calling(attribution, 'b');
  await vi.advanceTimersByTimeAsync(50);
  expect(two.given).toBeDefined();
  one.reply({ action: 'accept' });
  await settled();
  one.finish();
  await one.done;
  expect(await answer).toEqual({ action: 'accept' });
  two.finish();
  await two.done;
  const three = calling(attribution, 'c');
  await settled();
  expect([three.given !== undefined, attribution.waiting]).toEqual([true, 0]);
});

test('a call with another open question gives up its turn again', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  for (let n = 0; n < 2; n += 1)
    void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  await vi.advanceTimersByTimeAsync(50);
  one.reply({ action: 'accept' });
  const two = calling(attribution, 'b');
  await vi.advanceTimersByTimeAsync(50);
  expect(two.given).toBeDefined();
});

test('a call that ended while its client was answering does not take a turn again', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  const session = { id: 's', signal: never };
  const [older, newer] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await settled();
  // The newer call carries the question of the older one.
  const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  await vi.advanceTimersByTimeAsync(50);
  newer.finish();
  await newer.done;
  newer.reply({});
  await answer;
  older.finish();
  await older.done;
  const other = calling(attribution, 'c');
  await settled();
  expect(other.given).toBeDefined();
});

test('if several calls of a client may have asked, none of them lets other clients be asked until one is left', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  await asking(attribution, 'asking');
  const session = { id: 's', signal: never };
  const [older, newer] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await settled();
  const answers = [];
  for (let n = 0; n < 2; n += 1) {
    answers.push((await attribution.question(never)).ask('elicitation/create', {}, { signal: never }));
    await vi.advanceTimersByTimeAsync(100);
  }
  const other = calling(attribution, 'asking');
  await settled();
  const whose = Promise.resolve(attribution.question(never));
  // The questions of the older call were sent with the newer one.
  newer.reply({});
  await answers[0];
  let found = false;
  void whose.finally(() => (found = true));
  newer.finish();
  await newer.done;
  await vi.advanceTimersByTimeAsync(50);
  expect(found).toBe(false);
  older.finish();
  expect(await whose).toBe(other.given);
});

test('a call that begins later does not wait for the answer to an earlier question', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b', 'c');
  const session = { id: 's', signal: never };
  const [one, two] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  one.cancel();
  const later = calling(attribution, 'c', session);
  two.finish();
  // The cancelled call can no longer ask, and only the later one is left.
  await vi.advanceTimersByTimeAsync(3000);
  const other = calling(attribution, 'c');
  await settled();
  const whose = Promise.resolve(attribution.question(never));
  other.finish();
  expect(await whose).toBe(later.given);
});

test('the last call of a client waits for the answer, whichever call its question was sent with', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  await asking(attribution, 'asking');
  const session = { id: 's', signal: never };
  const [, newer] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await settled();
  const answers = [];
  for (let n = 0; n < 2; n += 1) {
    answers.push((await attribution.question(never)).ask('elicitation/create', {}, { signal: never }));
    await vi.advanceTimersByTimeAsync(100);
  }
  newer.reply({});
  await answers[0];
  newer.finish();
  await newer.done;
  await vi.advanceTimersByTimeAsync(50);
  const other = calling(attribution, 'asking');
  await settled();
  expect(await attribution.question(never)).toBe(other.given);
});

test('a question that waits is refused if a cancelled call may have asked it', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const session = { id: 's', signal: never };
  const other = attribution.answer(() => new Promise(() => {}), new TestExchange('tools/list'));
  const one = calling(attribution, 'a', session);
  await settled();
  const refused = failure(attribution.question(never));
  one.cancel();
  await vi.advanceTimersByTimeAsync(2000);
  expect(await refused).toMatchObject({ code: -32603 });
  other.catch(() => {});
});

test('after the server has taken a question back, its tool does not count as one that never asks', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const list = deferred<JsonObject>();
  void attribution.answer(() => list.promise, new TestExchange('tools/list'));
  const one = calling(attribution, 'a');
  await settled();
  const controller = new AbortController();
  const taken = failure(attribution.question(controller.signal));
  controller.abort(new Error('too late'));
  await taken;
  one.finish();
  await one.done;
  const again = calling(attribution, 'a');
  await settled();
  const whose = Promise.resolve(attribution.question(never));
  list.resolve({});
  expect(await whose).toBe(again.given);
});

test('no other call of a client takes the question of a cancelled one for its own', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const session = { id: 's', signal: never };
  const one = calling(attribution, 'a', session);
  await vi.advanceTimersByTimeAsync(2000);
  const two = calling(attribution, 'b', session);
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  one.cancel();
  await vi.advanceTimersByTimeAsync(2100);
  const other = calling(attribution, 'c');
  await settled();
  const whose = Promise.resolve(attribution.question(never));
  other.finish();
  expect(await whose).toBe(two.given);
});

test('a quiet tool that asks beside another call of its client no longer counts as quiet', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const session = { id: 's', signal: never };
  await known(attribution, 'a');
  const [one, two] = [calling(attribution, 'a', session), calling(attribution, 'a', session)];
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  two.reply({});
  await answer;
  const other = calling(attribution, 'b');
  await settled();
  const whose = Promise.resolve(attribution.question(never));
  other.finish();
  expect([one.given, two.given]).toContain(await whose);
});

test('a call that fails on its arguments says nothing about its tool', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await attribution.answer(async () => ({ isError: true }), new TestExchange('tools/call', { name: 'a' }));
  const calls = [calling(attribution, 'a'), calling(attribution, 'a')];
  await settled();
  expect(calls.map(({ given }) => given !== undefined)).toEqual([true, false]);
});

test('a call that creates a task says nothing about other calls of its tool', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const answer = { task: { taskId: 't' } };
  const exchange = new TestExchange('tools/call', { name: 'a', task: {} });
  expect(await attribution.answer(async () => answer, exchange)).toBe(answer);
  const [one, other] = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  expect([one.given !== undefined, other.given]).toEqual([true, undefined]);
  expect(await attribution.question(never)).toBe(one.given);
});

test('a question that names a task reaches only the client that has begun the task, or has named it last', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const [own, later] = ['own', 'later'].map((id) => ({ id, signal: never }));
  const params = { name: 'a', task: {} };
  const begins = new TestExchange('tools/call', params, { caller: { session: own } });
  await attribution.answer(async () => ({ task: { taskId: 't' } }), begins);
  const ask = async (session?: Session): Promise<unknown> => {
    const call = calling(attribution, 'b', session);
    await settled();
    const exchange = await attribution.question(never);
    const asked = failure(
      exchange.ask('elicitation/create', { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' } } }),
    );
    await settled();
    if (call.exchange.asked.length > 0) call.reply({ yes: true });
    call.finish();
    await call.done;
    return asked;
  };
  expect(await ask(own)).toEqual({ yes: true });
  const message = 'elicitation/create was not asked: the client has no such task';
  expect(await ask(later)).toMatchObject({ message });
  const names = new TestExchange('tasks/result', { taskId: 't' }, { caller: { session: later } });
  await attribution.answer(async () => ({}), names);
  expect(await ask(later)).toEqual({ yes: true });
});

test('a question that names a task waits until the client of the task is known', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  const [own, other] = ['own', 'other'].map((id) => ({ id, signal: never }));
  const result = deferred<JsonObject>();
  const begins = new TestExchange('tools/call', { name: 'quiet', task: {} }, { caller: { session: own } });
  await attribution.answer(async () => ({ task: { taskId: 'earlier' } }), begins);
  const begun = attribution.answer(() => result.promise, begins);
  const waits = calling(attribution, 'quiet', own);
  const running = calling(attribution, 'unknown', other);
  await settled();
  expect(running.given).toBeDefined();
  const whose = Promise.resolve(attribution.question(never, 'elicitation/create', inTask('t')));
  const unknown = failure(attribution.question(never, 'roots/list', inTask('never begun')));
  await settled();
  result.resolve({ task: { taskId: 't' } });
  await begun;
  expect(await whose).toBe(waits.given);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await unknown).toMatchObject({ message: 'roots/list was not asked: the client has no such task' });
});

test('a call does not give up its turn because a task of its client asks', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  const [own, other] = ['own', 'other'].map((id) => ({ id, signal: never }));
  const begins = new TestExchange('tools/call', { name: 'a', task: {} }, { caller: { session: own } });
  await attribution.answer(async () => ({ task: { taskId: 't' } }), begins);
  const [one, two] = [calling(attribution, 'asking', own), calling(attribution, 'asking', other)];
  await settled();
  const { signal } = new AbortController();
  const exchange = await attribution.question(signal, 'elicitation/create', inTask('t'));
  void exchange.ask('elicitation/create', inTask('t'), { signal });
  await vi.advanceTimersByTimeAsync(1000);
  expect([one.exchange.asked.length, two.given]).toEqual([1, undefined]);
  expect(await attribution.question(never)).toBe(one.given);
});

test('a server that runs one call after another gets an answer after two seconds', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'a');
  const [one] = [calling(attribution, 'a'), calling(attribution, 'a')];
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  await vi.advanceTimersByTimeAsync(50);
  one.reply({ n: 1 });
  await vi.advanceTimersByTimeAsync(2000);
  expect(await Promise.race([answer, settled()])).toEqual({ n: 1 });
});

test('other calls of a client do not keep its turn while it answers', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const session = { id: 's', signal: never };
  await known(attribution, 'quiet');
  const one = calling(attribution, 'a', session);
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  const two = calling(attribution, 'a');
  for (let n = 0; n < 10; n += 1) {
    const quiet = calling(attribution, 'quiet', session);
    await vi.advanceTimersByTimeAsync(15);
    quiet.finish();
  }
  expect([one.exchange.asked.length, two.given !== undefined]).toEqual([1, true]);
});

test('a question without a call in flight is refused', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const message = expect.stringContaining('no running call can have asked');
  expect(await failure(attribution.question(never))).toMatchObject({ code: -32603, message });
});

test('a question that could belong to a list waits until the list is answered', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const list = deferred<JsonObject>();
  const listed = attribution.answer(() => list.promise, new TestExchange('tools/list'));
  const one = calling(attribution, 'a');
  await settled();
  let found = false;
  const whose = Promise.resolve(attribution.question(never)).finally(() => (found = true));
  await settled();
  expect([found, attribution.message()]).toEqual([false, undefined]);
  list.resolve({});
  await listed;
  expect(await whose).toBe(one.given);
});

test('a question is asked through the call of its client that can carry it, and not through a list', async () => {
  const attribution = new QuestionAttribution(() => 'one client');
  const one = calling(attribution, 'a');
  await settled();
  const list = deferred<JsonObject>();
  let listing: Exchange | undefined;
  const listed = attribution.answer((given) => {
    listing = given;
    return list.promise;
  }, new TestExchange('tools/list'));
  await settled();
  expect(await attribution.question(never)).toBe(one.given);
  expect(attribution.message()).toBe(one.given);
  one.finish();
  await one.done;
  expect(attribution.message()).toBe(listing);
  await expect(attribution.question(never)).rejects.toThrow('no running call can have asked a question');
  list.resolve({});
  await listed;
});

test('if no running tool ever asked, the question may belong to a call that waits for an answer', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'b');
  const one = calling(attribution, 'a');
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  await vi.advanceTimersByTimeAsync(50);
  const two = calling(attribution, 'b');
  await settled();
  expect([two.given !== undefined, attribution.message()]).toEqual([true, undefined]);
  const whose = Promise.resolve(attribution.question(never));
  two.finish();
  expect(await whose).toBe(one.given);
});

test('a cancelled call keeps its turn for two seconds, and its questions reach nobody', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  one.cancel();
  const two = calling(attribution, 'a');
  await vi.advanceTimersByTimeAsync(1999);
  expect(two.given).toBeUndefined();
  const message = expect.stringContaining('no running call can have asked');
  expect(await failure(attribution.question(never))).toMatchObject({ code: -32603, message });
  await vi.advanceTimersByTimeAsync(1);
  expect(await attribution.question(never)).toBe(two.given);
});

test('a call that is cancelled late in its turn keeps it for two seconds more', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await vi.advanceTimersByTimeAsync(1500);
  one.cancel();
  const two = calling(attribution, 'b');
  await vi.advanceTimersByTimeAsync(1999);
  expect(two.given).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(await attribution.question(never)).toBe(two.given);
});

test('a cancelled call whose turn was over takes one again', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await vi.advanceTimersByTimeAsync(2000);
  one.cancel();
  await settled();
  const two = calling(attribution, 'b');
  await vi.advanceTimersByTimeAsync(1999);
  expect(two.given).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(await attribution.question(never)).toBe(two.given);
});

test('a question whose call has ended goes through another call of its client, or is refused', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const session = { id: 's', signal: never };
  const one = calling(attribution, 'a', session);
  await settled();
  const last = await attribution.question(never);
  const list = attribution.answer(
    () => new Promise(() => {}),
    new TestExchange('tools/list', {}, { caller: { session } }),
  );
  list.catch(() => {});
  one.finish();
  await settled();
  const other = calling(attribution, 'b');
  await settled();
  const next = await attribution.question(never, 'elicitation/create', {}, last);
  expect(next).not.toBe(other.given);
  expect(next.caller.session).toBe(session);
});

test('a question whose client has no call any more reaches no other client', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  const last = await attribution.question(never);
  one.finish();
  await settled();
  const other = calling(attribution, 'b');
  await settled();
  expect(other.given).toBeDefined();
  const message = 'All calls that may have asked this have ended';
  expect(() => attribution.question(never, 'elicitation/create', {}, last)).toThrow(message);
});

test('a call that begins while a question waits cannot have asked it, nor one that waited with it', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const sessions = ['s', 't'].map((id) => ({ id, signal: never }));
  const calls = sessions.map((session) => calling(attribution, 'slow', session));
  await vi.advanceTimersByTimeAsync(2000);
  const [first, second] = [failure(attribution.question(never)), failure(attribution.question(never))];
  // A third client's call begins later.
  calling(attribution, 'slow');
  await settled();
  calls[0]!.finish();
  await settled();
  expect(await first).toBe(calls[1]!.given);
  expect(await second).toBe(calls[1]!.given);
});

test('a question that more than 1,000 calls of several clients could have asked is refused at once', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const pending = (method: string) => {
    const done = attribution.answer(() => new Promise(() => {}), new TestExchange(method));
    done.catch(() => {});
  };
  for (let count = 0; count < 1001; count += 1) pending('tools/list');
  expect(await failure(attribution.question(never))).toMatchObject({ code: -32603 });
});

test.each([false, true])('a call is cancelled while its client answers (and then it answers: %s)', async (answers) => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  await vi.advanceTimersByTimeAsync(50);
  one.cancel();
  await settled();
  if (answers) one.reply({});
  const two = calling(attribution, 'a');
  await settled();
  let found = false;
  const whose = failure(attribution.question(never)).finally(() => (found = true));
  await vi.advanceTimersByTimeAsync(1999);
  expect(found).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  // With the answer, the server continues the first call, which may have asked again.
  const result = await whose;
  expect([result === two.given, result instanceof Error]).toEqual([!answers, answers]);
});

test('a question that a cancelled call of a tool that never asked may have asked reaches nobody', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  const quiet = calling(attribution, 'quiet');
  const one = calling(attribution, 'a');
  await settled();
  const refused = failure(attribution.question(never));
  quiet.cancel();
  await vi.advanceTimersByTimeAsync(2000);
  expect(await refused).toMatchObject({ code: -32603 });
  expect(await attribution.question(never)).toBe(one.given);
});

test('a cancelled call that asks again after its first question was refused reaches nobody', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  const quiet = calling(attribution, 'quiet');
  const other = calling(attribution, 'a');
  await settled();
  const first = failure(attribution.question(never));
  quiet.cancel();
  await vi.advanceTimersByTimeAsync(1000);
  const second = failure(attribution.question(never));
  await vi.advanceTimersByTimeAsync(1000);
  expect(await Promise.all([first, second])).toMatchObject([{ code: -32603 }, { code: -32603 }]);
  expect(other.exchange.asked).toEqual([]);
});

test.each([false, true])(
  'a question that comes after a call of a tool that never asked was cancelled waits two seconds, or until the server answers it: %s',
  async (answers) => {
    const attribution = new QuestionAttribution(({ session }) => session);
    await known(attribution, 'quiet');
    const over = calling(attribution, 'quiet').cancel();
    const one = calling(attribution, 'a');
    await vi.advanceTimersByTimeAsync(1);
    let found: Exchange | undefined;
    void asksThrough(attribution, 'a question').then((exchange) => (found = exchange));
    await vi.advanceTimersByTimeAsync(1998);
    expect(found).toBeUndefined();
    if (answers) over();
    else await vi.advanceTimersByTimeAsync(1);
    await settled();
    expect(found).toBe(one.given);
  },
);

test('a cancelled call of a tool that never asked does not keep other calls from their turns', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  await asking(attribution, 'asking');
  calling(attribution, 'quiet').cancel();
  const one = calling(attribution, 'asking');
  await settled();
  expect(one.given).toBeDefined();
});

test('a call whose turn it is gives it up when it is cancelled, if its tool has proved not to ask meanwhile', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'tool', 'quiet');
  const [here, there] = ['here', 'there'].map((id) => ({ id, signal: never }));
  for (let n = 0; n < 2; n += 1) calling(attribution, 'tool', here);
  const quiet = calling(attribution, 'quiet', there);
  void asksThrough(attribution, 'of one of the first two calls');
  const later = calling(attribution, 'tool', here);
  await settled();
  quiet.finish();
  await settled();
  // Now the tool may ask, so this call takes the turn.
  const holder = calling(attribution, 'tool', here);
  const other = calling(attribution, 'a', there);
  later.finish();
  await settled();
  expect([holder, other].map(({ given }) => given !== undefined)).toEqual([true, false]);
  holder.cancel();
  await settled();
  expect(other.given).toBeDefined();
});

test('a call does not wait for a question that is answered already, when the other call that could have asked it ends', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  await asking(attribution, 'asking');
  const [here, there] = ['here', 'there'].map((id) => ({ id, signal: never }));
  const one = calling(attribution, 'asking', here);
  await settled();
  void asksThrough(attribution, 'first');
  await vi.advanceTimersByTimeAsync(60);
  const two = calling(attribution, 'asking', here);
  await settled();
  one.reply({});
  // The first call continues while the second one has the turn.
  await vi.advanceTimersByTimeAsync(2000);
  void asksThrough(attribution, 'second');
  await vi.advanceTimersByTimeAsync(50);
  const quiet = calling(attribution, 'quiet', there);
  void asksThrough(attribution, 'third').catch(() => {});
  await vi.advanceTimersByTimeAsync(60);
  const other = calling(attribution, 'asking', there);
  await settled();
  expect([one, two, quiet, other].map(({ exchange }) => exchange.asked.length)).toEqual([2, 0, 0, 0]);
  one.reply({});
  await settled();
  two.finish();
  await settled();
  const whose = asksThrough(attribution, 'fourth');
  await settled();
  expect([quiet, other].map(({ exchange }) => exchange.asked)).toEqual([[], []]);
  other.finish();
  quiet.finish();
  expect(await whose).toBe(one.given);
});

test('a call waits for an answer only 50 ms after that question, and not after an earlier one', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b', 'c');
  const session = { id: 's', signal: never };
  const one = calling(attribution, 'a', session);
  await settled();
  void asksThrough(attribution, 'first');
  await settled();
  one.reply({});
  await settled();
  const [same, other] = [calling(attribution, 'b', session), calling(attribution, 'c')];
  await vi.advanceTimersByTimeAsync(40);
  void asksThrough(attribution, 'second');
  await vi.advanceTimersByTimeAsync(20);
  other.finish();
  await settled();
  const last = calling(attribution, 'd');
  same.finish();
  await vi.advanceTimersByTimeAsync(5);
  // The first call asks again, 25 ms after the second question.
  const whose = asksThrough(attribution, 'third');
  await settled();
  expect(last.exchange.asked).toEqual([]);
  last.finish();
  expect(await whose).toBe(one.given);
});

test('a question of a call that waits for another answer reaches nobody if that call is cancelled', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  await known(attribution, 'quiet');
  const one = calling(attribution, 'asking');
  await settled();
  void asksThrough(attribution, 'first');
  await vi.advanceTimersByTimeAsync(10);
  const other = calling(attribution, 'quiet');
  await vi.advanceTimersByTimeAsync(20);
  const refused = failure(asksThrough(attribution, 'second'));
  await vi.advanceTimersByTimeAsync(170);
  one.cancel();
  await vi.advanceTimersByTimeAsync(2000);
  expect(await refused).toMatchObject({ code: -32603 });
  expect(other.exchange.asked).toEqual([]);
});

test('a call gives up its turn, also if another call of its client is cancelled', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  const session = { id: 's', signal: never };
  const other = calling(attribution, 'slow', session);
  await vi.advanceTimersByTimeAsync(2000);
  calling(attribution, 'asking', session);
  await settled();
  const over = other.cancel();
  await asksThrough(attribution, 'first');
  over();
  const next = calling(attribution, 'asking');
  await vi.advanceTimersByTimeAsync(50);
  expect(next.given).toBeDefined();
});

test('a call gives up its turn, also if the call through which its client is asked ends', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  const session = { id: 's', signal: never };
  calling(attribution, 'slow', session);
  await vi.advanceTimersByTimeAsync(2000);
  calling(attribution, 'asking', session);
  await settled();
  const other = calling(attribution, 'slow', session);
  other.exchange.ask = () => Promise.reject(new NotAsked('elicitation/create', 'tools/call'));
  const { signal } = new AbortController();
  const exchange = await attribution.question(signal);
  await expect(exchange.ask('elicitation/create', {}, { signal })).rejects.toThrow(NotAsked);
  other.finish();
  await settled();
  void (await attribution.question(signal, '', {}, exchange)).ask('elicitation/create', {}, { signal });
  const next = calling(attribution, 'asking');
  await vi.advanceTimersByTimeAsync(50);
  expect(next.given).toBeDefined();
});

test('a call that needs no turn continues with each answer, and may ask again', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  await asking(attribution, 'asking');
  const one = calling(attribution, 'quiet');
  await settled();
  for (let n = 0; n < 2; n += 1) {
    const answered = one.given!.ask('elicitation/create', {}, { signal: new AbortController().signal });
    await vi.advanceTimersByTimeAsync(100);
    one.reply({});
    await answered;
    await vi.advanceTimersByTimeAsync(100);
  }
  const other = calling(attribution, 'asking');
  await settled();
  const whose = asksThrough(attribution, 'third');
  await settled();
  expect(other.exchange.asked).toEqual([]);
  other.finish();
  expect(await whose).toBe(one.given);
});

test('a call gives up its turn again if the server takes back one of its questions', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  calling(attribution, 'asking');
  await settled();
  const controllers = [new AbortController(), new AbortController()];
  for (const { signal } of controllers)
    void (await attribution.question(signal)).ask('elicitation/create', {}, { signal }).catch(() => {});
  await vi.advanceTimersByTimeAsync(60);
  controllers[0]!.abort();
  await settled();
  const next = calling(attribution, 'asking');
  await vi.advanceTimersByTimeAsync(50);
  expect(next.given).toBeDefined();
});

test('questions of other calls do not keep a call from giving up its turn', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking');
  await known(attribution, 'quiet');
  const session = { id: 's', signal: never };
  for (const name of ['asking', 'quiet']) calling(attribution, name, session);
  await settled();
  void asksThrough(attribution, 'first');
  const next = calling(attribution, 'asking');
  await vi.advanceTimersByTimeAsync(40);
  void asksThrough(attribution, 'second');
  await vi.advanceTimersByTimeAsync(10);
  expect(next.given).toBeDefined();
});

test('a question that is refused because too many are open leaves its call as one that may ask', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await asking(attribution, 'asking', 'naming');
  await known(attribution, 'quiet');
  const session = { id: 's', signal: never };
  const naming = calling(attribution, 'naming', session);
  await settled();
  for (let n = 0; n < 100; n += 1)
    naming.given!.ask('elicitation/create', {}, { signal: new AbortController().signal }).catch(() => {});
  await vi.advanceTimersByTimeAsync(60);
  calling(attribution, 'asking', session);
  const quiet = calling(attribution, 'quiet');
  await settled();
  const { signal } = new AbortController();
  const whose = Promise.resolve(attribution.question(signal));
  await vi.advanceTimersByTimeAsync(100);
  const other = calling(attribution, 'asking');
  await settled();
  quiet.finish();
  const refused = failure((await whose).ask('elicitation/create', {}, { signal }));
  await vi.advanceTimersByTimeAsync(2000);
  expect(await refused).toMatchObject({ message: expect.stringContaining('100 questions') });
  void failure(asksThrough(attribution, 'again'));
  await vi.advanceTimersByTimeAsync(10);
  expect([other.given !== undefined, other.exchange.asked]).toEqual([true, []]);
});

test('a suspected tool whose calls take long does not take turns any more', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  const long = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  void failure(attribution.question(never));
  await vi.advanceTimersByTimeAsync(10_000);
  for (const call of long) call.finish();
  await settled();
  const calls = ['a', 'a', 'a'].map((name) => calling(attribution, name));
  await settled();
  expect(calls.map(({ given }) => given !== undefined)).toEqual([true, false, false]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(calls.every(({ given }) => given)).toBe(true);
});

test('a question that a tool may have asked for the first time reaches nobody if that call is cancelled', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  const quiet = calling(attribution, 'quiet');
  calling(attribution, 'a');
  await settled();
  const refused = failure(attribution.question(never));
  quiet.cancel();
  await vi.advanceTimersByTimeAsync(2000);
  expect(await refused).toMatchObject({ code: -32603 });
});

test('if a question was refused because its call is unknown, the tools of all its calls take turns from then on', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b', 'c');
  const long = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  const refused = failure(attribution.question(never));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await refused).toMatchObject({ code: -32603 });
  for (const call of long) call.finish();
  await known(attribution, 'a', 'b');
  const [one, two, three] = ['a', 'b', 'c'].map((name) => calling(attribution, name));
  await settled();
  expect([one!.given !== undefined, two!.given, three!.given !== undefined]).toEqual([true, undefined, true]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(two!.given).toBeDefined();
});

test('a cancelled call gives up its turn when the server has answered it', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const one = calling(attribution, 'a');
  await settled();
  const over = attribution.cancelled(one.given!)!;
  one.cancel();
  const two = calling(attribution, 'b');
  await settled();
  expect(two.given).toBeUndefined();
  over();
  await settled();
  expect(await attribution.question(never)).toBe(two.given);
});

test.each(['new', 'quiet'])('a cancelled call of a %s tool leaves nothing in memory', async (name) => {
  const collect = garbageCollector();
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  /** The connection keeps it until the server answers. */
  const overs: unknown[] = [];
  const cancelled = async (): Promise<WeakRef<TestExchange>> => {
    const call = calling(attribution, name);
    await settled();
    overs.push(call.cancel());
    await settled();
    return new WeakRef(call.exchange);
  };
  const call = await cancelled();
  vi.useRealTimers();
  await vi.waitFor(() => {
    collect();
    expect(call.deref() === undefined).toBe(true);
  });
  expect(overs).toHaveLength(1);
});

test('at most 100 questions wait, and further ones are refused at once', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const names = Array.from({ length: 200 }, (_, n) => `t${n}`);
  await known(attribution, ...names);
  const calls = names.map((name) => calling(attribution, name));
  await settled();
  const waiting = Array.from({ length: 100 }, () =>
    Promise.resolve(attribution.question(new AbortController().signal)),
  );
  expect(await failure(attribution.question(never))).toMatchObject({ code: -32603 });
  for (const call of calls.slice(1)) call.finish();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([calls[0]!.given]));
});

test('a question that comes while another one waits is asked when that is decided', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b', 'c');
  const [one, two, three] = [calling(attribution, 'a'), calling(attribution, 'b'), calling(attribution, 'c')];
  await settled();
  const first = Promise.resolve(attribution.question(never));
  three.finish();
  await three.done;
  const second = Promise.resolve(attribution.question(never));
  one.finish();
  expect(await Promise.all([first, second])).toEqual([two.given, two.given]);
});

test('a tool that asked and then failed counts as a tool that asks', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  const one = calling(attribution, 'a');
  await settled();
  void (await attribution.question(never)).ask('elicitation/create', {}, { signal: never });
  one.fail();
  await settled();
  const [two, three] = [calling(attribution, 'a'), calling(attribution, 'a')];
  await settled();
  expect([two.given !== undefined, three.given]).toEqual([true, undefined]);
});

test('a log message belongs to the newest call of the only client', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'a', 'b');
  const session = { id: 's', signal: never };
  const [, two] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await settled();
  expect(attribution.message()).toBe(two.given);
});

test('tool names that are too long are not remembered, and count as one tool', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const long = 'x'.repeat(256);
  await known(attribution, `${long}1`);
  const [first, second] = [calling(attribution, `${long}2`), calling(attribution, `${long}3`)];
  await settled();
  expect([first.given, second.given]).not.toContain(undefined);
  expect(attribution.waiting).toBe(0);
});

test('a question ends when no call of its client is in flight any more', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const session = { id: 's', signal: never };
  const [one, two] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await vi.advanceTimersByTimeAsync(2000);
  one.exchange.ask = (_method, _params, options) =>
    new Promise((_, reject) => options!.signal!.addEventListener('abort', () => reject(options!.signal!.reason)));
  const outlivesRequest = true;
  const asked = one.given!.ask('elicitation/create', {}, { outlivesRequest }).catch((error: Error) => error.message);
  let over = false;
  void asked.then(() => (over = true));
  one.finish();
  await settled();
  expect(over).toBe(false);
  two.cancel();
  await vi.advanceTimersByTimeAsync(1999);
  expect(over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await asked).toBe('All calls that may have asked this have ended');
});

test('one client has at most 100 open questions', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const [one, two] = ['1', '2'].map((id) => calling(attribution, 'a', { id, signal: never }));
  await settled();
  const open = Array.from({ length: 100 }, () => one!.given!.ask('elicitation/create', {}));
  await expect(one!.given!.ask('elicitation/create', {})).rejects.toThrow(
    'elicitation/create was not asked: 100 questions to its client are open; wait until some are answered',
  );
  one!.reply({ first: true });
  expect(await open[0]).toEqual({ first: true });
  const next = one!.given!.ask('elicitation/create', {});
  for (let n = 0; n < 100; n += 1) one!.reply({ n });
  expect(await next).toEqual({ n: 99 });
  one!.finish();
  await settled();
  void two!.given!.ask('elicitation/create', {});
  two!.reply({});
  two!.finish();
  await two!.done;
});

test('the cost of a call does not grow with the number of waiting calls', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  const asked = calling(attribution, 'asks');
  await settled();
  await attribution.question(never);
  asked.finish();
  await asked.done;
  const long = calling(attribution, 'asks');
  await vi.advanceTimersByTimeAsync(2000);
  const waiting = Array.from({ length: 5000 }, () => calling(attribution, 'asks'));
  const answer = (): Promise<JsonObject> => Promise.resolve({});
  const before = process.cpuUsage();
  for (let n = 0; n < 5000; n += 1) {
    await attribution.answer(answer, new TestExchange('tools/call', { name: 'quiet' }));
  }
  // The processor time of this process only. It took 5 seconds when each call checked all that wait.
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  expect(attribution.waiting).toBe(5000);
  for (const call of [long, ...waiting]) call.finish();
  const all = Promise.all(waiting.map(({ done }) => done));
  // Each of them starts in a turn of the event loop.
  while (attribution.waiting > 0) await vi.advanceTimersByTimeAsync(1);
  await all;
});

const MANY = 20_000;

/** Calls of one client, and the exchanges that the server got. */
async function callsOfOneClient(attribution: QuestionAttribution) {
  await known(attribution, 'asks');
  const session = { id: 's', signal: never };
  const given: Exchange[] = [];
  const forever = new Promise<JsonObject>(() => {});
  const milliseconds = processorTime(() => {
    for (let n = 0; n < MANY; n += 1) {
      const exchange = new TestExchange('tools/call', { name: 'asks' }, { caller: { session } });
      void attribution.answer((each) => {
        given.push(each);
        return forever;
      }, exchange);
    }
  });
  await settled();
  expect(given).toHaveLength(MANY);
  return { given, milliseconds };
}

// Each of these took 1.4 to 7.5 seconds when each call, question, log message and cancellation looked at all calls.
test('the cost of a call does not grow with the other calls of its client', async () => {
  const { milliseconds } = await callsOfOneClient(new QuestionAttribution(({ session }) => session));
  expect(milliseconds).toBeLessThan(1000);
});

test.each([
  ['questions', (attribution: QuestionAttribution) => void attribution.question(never)],
  ['log messages', (attribution: QuestionAttribution) => void attribution.message()],
])('many %s at once cost no more than one, however many calls are in flight', async (_what, receive) => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await callsOfOneClient(attribution);
  const milliseconds = processorTime(() => {
    for (let n = 0; n < 2000; n += 1) receive(attribution);
  });
  expect(milliseconds).toBeLessThan(500);
});

// Each looked at all clients in one version, which took 0.4 to 0.7 seconds.
test('questions are not compared with more calls than can have asked', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  await known(attribution, 'quiet');
  for (let n = 0; n < 10_000; n += 1) calling(attribution, 'quiet');
  const refused: Promise<unknown>[] = [];
  const milliseconds = processorTime(() => {
    for (let n = 0; n < 2000; n += 1) refused.push(failure(attribution.question(new AbortController().signal)));
  });
  expect(milliseconds).toBeLessThan(200);
  expect(await Promise.all(refused)).toHaveLength(2000);
});

test('a cancellation is not compared with all calls in flight', async () => {
  const attribution = new QuestionAttribution(({ session }) => session);
  const { given } = await callsOfOneClient(attribution);
  expect(processorTime(() => given.forEach((exchange) => attribution.cancelled(exchange)))).toBeLessThan(500);
});

test('thousands of calls that get their turns together start in several turns of the event loop', async () => {
  vi.useRealTimers();
  const attribution = new QuestionAttribution(({ session }) => session);
  const first = calling(attribution, 'a', { id: '1', signal: never });
  await settled();
  const others = Array.from({ length: 1000 }, () => calling(attribution, 'a', { id: '2', signal: never }));
  const given = (): number => others.filter((call) => call.given).length;
  first.finish();
  await settled();
  expect(given()).toBeGreaterThan(0);
  expect(given()).toBeLessThan(1000);
  // One of them is cancelled meanwhile. It never starts, and has no turn any more.
  const last = others.at(-1)!;
  last.exchange.abort();
  await vi.waitUntil(() => given() === 999);
  await expect(last.done).rejects.toThrow('aborted');
  const next = calling(attribution, 'a', { id: '3', signal: never });
  for (const call of others) call.finish();
  await vi.waitUntil(() => next.given);
  expect(last.given).toBeUndefined();
});
