import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import { TestExchange } from '../../test/support/exchange.ts';
import { processorTime } from '../../test/support/processor-time.ts';
import { deferred, settled } from '../../test/support/service.ts';
import { nextTurn } from '../base/wait.ts';
import type { Exchange, Session } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { QuestionAttribution } from './question-attribution.ts';

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] }),
);
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

const clients = (): QuestionAttribution => new QuestionAttribution(({ session }) => session);
const client = (id: string): Session => ({ id, signal: never });

/** The reason why a question was refused. */
async function failure(whose: Exchange | Promise<unknown>): Promise<unknown> {
  try {
    return await whose;
  } catch (error) {
    return error;
  }
}

/** The parameters of a question that belongs to a task. */
const inTask = (taskId: string): JsonObject => ({ _meta: { 'io.modelcontextprotocol/related-task': { taskId } } });

/** Only so many calls begin in a turn of the event loop. */
async function untilBegun(call: ReturnType<typeof calling>): Promise<void> {
  while (!call.given) await nextTurn();
}

/** Lets a call of each tool end without a question, so that these tools take no turns. */
async function known(attribution: QuestionAttribution, ...names: string[]): Promise<void> {
  for (const name of names) {
    const call = calling(attribution, name);
    await untilBegun(call);
    call.finish();
    await call.done;
  }
}

/** Lets a call of each tool ask, so that these tools take turns. */
async function asking(attribution: QuestionAttribution, ...names: string[]): Promise<void> {
  for (const name of names) {
    const call = calling(attribution, name);
    await untilBegun(call);
    await attribution.question(never);
    call.finish();
    await call.done;
  }
}

test('calls of tools that never asked run in parallel, and a session gets every question of its own', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b', 'c');
  const session = client('s');
  const calls = ['a', 'b', 'c'].map((name) => calling(attribution, name, session));
  expect(calls.every(({ given }) => given)).toBe(true);
  expect(await attribution.question(never)).toBe(calls[2]!.given);
});

test('a question waits until the calls of all other clients have ended, and calls of other tools do not wait for it', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b', 'c', 'd');
  const [one, two, three] = ['a', 'b', 'c'].map((name) => calling(attribution, name));
  let found = false;
  const whose = Promise.resolve(attribution.question(never)).finally(() => (found = true));
  // This one came after the question, so it cannot have asked it.
  const later = calling(attribution, 'd');
  expect(later.given).toBeDefined();
  one!.finish();
  await settled();
  expect(found).toBe(false);
  two!.finish();
  expect(await whose).toBe(three!.given);
});

test('a question goes to a client with several calls when it is the only one left', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b', 'c');
  const session = client('s');
  calling(attribution, 'a', session);
  const other = calling(attribution, 'b');
  const newest = calling(attribution, 'c', session);
  const whose = Promise.resolve(attribution.question(never));
  other.finish();
  expect(await whose).toBe(newest.given);
});

test('a question that cannot be attributed for 10 seconds is refused, and its tools take turns from then on', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b');
  const calls = [calling(attribution, 'a'), calling(attribution, 'b')];
  const refused = [failure(attribution.question(never)), failure(attribution.question(never))];
  let over = false;
  void refused[0]!.then(() => (over = true));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  const message = expect.stringContaining('--per-session');
  expect(await Promise.all(refused)).toMatchObject([
    { code: -32603, message },
    { code: -32603, message },
  ]);
  for (const call of calls) call.finish();
  await settled();
  const [three, four] = [calling(attribution, 'a'), calling(attribution, 'b')];
  await settled();
  expect([three.given !== undefined, four.given]).toEqual([true, undefined]);
});

test('calls of tools that ask wait for those of other clients, also while a user answers, and not for those of their own', async () => {
  const attribution = clients();
  await asking(attribution, 'a', 'b');
  const session = client('s');
  const one = calling(attribution, 'a', session);
  const other = calling(attribution, 'b');
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {});
  await vi.advanceTimersByTimeAsync(20_000);
  expect([other.given, attribution.waiting]).toEqual([undefined, 1]);
  one.reply({ n: 1 });
  expect(await answer).toEqual({ n: 1 });
  // It may ask more, at any time.
  expect(await attribution.question(never)).toBe(one.given);
  one.finish();
  await settled();
  expect([other.given !== undefined, attribution.waiting]).toEqual([true, 0]);
});

test('several calls of one client that ask run in parallel', async () => {
  const attribution = clients();
  await asking(attribution, 'a');
  const session = client('s');
  const calls = [calling(attribution, 'a', session), calling(attribution, 'a', session)];
  await settled();
  expect(calls.every(({ given }) => given)).toBe(true);
});

test('calls get their turns in the order of arrival', async () => {
  const attribution = clients();
  await asking(attribution, 'a');
  const session = client('s');
  const one = calling(attribution, 'a', session);
  const other = calling(attribution, 'a');
  const own = calling(attribution, 'a', session);
  await settled();
  await attribution.question(never);
  one.finish();
  await settled();
  expect([other.given !== undefined, own.given]).toEqual([true, undefined]);
  other.finish();
  await settled();
  expect(own.given).toBeDefined();
});

test('a tool takes turns from its first question on, during this call too', async () => {
  const attribution = clients();
  await asking(attribution, 'known');
  const one = calling(attribution, 'a');
  await settled();
  const answer = (await attribution.question(never)).ask('elicitation/create', {});
  one.reply({});
  await answer;
  const other = calling(attribution, 'known');
  await settled();
  expect(other.given).toBeUndefined();
  expect(await attribution.question(never)).toBe(one.given);
});

test('a client that was asked during several calls has the turn until the newest of them has ended', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b', 'c');
  await asking(attribution, 'known');
  const session = client('s');
  const calls = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await attribution.question(never);
  const other = calling(attribution, 'known');
  calling(attribution, 'c', session);
  calls[0]!.finish();
  await settled();
  expect(other.given).toBeUndefined();
  calls[1]!.finish();
  await settled();
  expect(other.given).toBeDefined();
});

test('a tool whose call has ended well and has not asked takes no turns any more', async () => {
  const attribution = clients();
  await asking(attribution, 'a');
  const calls = Array.from({ length: 3 }, () => calling(attribution, 'a'));
  await settled();
  expect(calls.map(({ given }) => given !== undefined)).toEqual([true, false, false]);
  // Wrong arguments may end a call before it asks.
  calls[0]!.fail();
  await settled();
  expect(calls.map(({ given }) => given !== undefined)).toEqual([true, true, false]);
  const later = calling(attribution, 'a');
  calls[1]!.finish();
  await settled();
  expect([calls[2]!.given !== undefined, later.given]).toEqual([true, undefined]);
  expect(calling(attribution, 'a').given).toBeDefined();
});

test('a question whose call is named says nothing of other calls', async () => {
  const attribution = clients();
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

test('a call begins without its turn after 30 seconds, and its question may be refused', async () => {
  const attribution = clients();
  await asking(attribution, 'a');
  const endless = calling(attribution, 'a');
  const other = calling(attribution, 'a');
  await vi.advanceTimersByTimeAsync(29_999);
  expect(other.given).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect([other.given !== undefined, attribution.waiting]).toEqual([true, 0]);
  const refused = failure(attribution.question(never));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await refused).toMatchObject({ code: -32603 });
  endless.finish();
  await settled();
  expect(await attribution.question(never)).toBe(other.given);
});

test('while a question waits, no call of a tool that asks begins', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b');
  await asking(attribution, 'known');
  const [one, two] = [calling(attribution, 'a'), calling(attribution, 'b')];
  const whose = Promise.resolve(attribution.question(never));
  const third = calling(attribution, 'known');
  await settled();
  expect(third.given).toBeUndefined();
  one.finish();
  expect(await whose).toBe(two.given);
  await settled();
  expect(third.given).toBeUndefined();
  two.finish();
  await settled();
  expect(third.given).toBeDefined();
});

test('a question that the server cancels leaves nothing behind', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b');
  await asking(attribution, 'known');
  calling(attribution, 'a');
  calling(attribution, 'b');
  const controller = new AbortController();
  const refused = failure(attribution.question(controller.signal));
  const third = calling(attribution, 'known');
  await settled();
  expect(third.given).toBeUndefined();
  controller.abort(new Error('never mind'));
  expect(await refused).toMatchObject({ message: 'never mind' });
  await settled();
  expect(third.given).toBeDefined();
  expect(vi.getTimerCount()).toBe(0);
});

test('a call that is cancelled while it waits never runs, and blocks no other call', async () => {
  const attribution = clients();
  await asking(attribution, 'a');
  const [one, two, three] = [calling(attribution, 'a'), calling(attribution, 'a'), calling(attribution, 'a')];
  two.exchange.abort();
  await expect(two.done).rejects.toThrow('aborted');
  one.finish();
  await settled();
  expect([two.given, three.given !== undefined]).toEqual([undefined, true]);
});

test('a call that is cancelled in the moment of its turn does not run', async () => {
  const attribution = clients();
  await asking(attribution, 'a');
  const [one, two] = [calling(attribution, 'a'), calling(attribution, 'a')];
  two.exchange.abort();
  one.finish();
  await expect(two.done).rejects.toThrow('aborted');
  expect(two.given).toBeUndefined();
});

test('after a cancelled call, calls of other clients that ask wait for two seconds', async () => {
  const attribution = clients();
  await known(attribution, 'a');
  await asking(attribution, 'known');
  calling(attribution, 'a').cancel();
  await settled();
  const other = calling(attribution, 'known');
  await vi.advanceTimersByTimeAsync(1999);
  expect(other.given).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(await attribution.question(never)).toBe(other.given);
});

test('after a cancelled call that the server has answered, no call waits', async () => {
  const attribution = clients();
  await known(attribution, 'a');
  await asking(attribution, 'known');
  const one = calling(attribution, 'a');
  const over = one.cancel();
  await settled();
  const other = calling(attribution, 'known');
  expect(other.given).toBeUndefined();
  over();
  await settled();
  expect(await attribution.question(never)).toBe(other.given);
  expect(vi.getTimerCount()).toBe(0);
});

test.each(['before', 'after'])(
  'a question that comes %s a call is cancelled which may have asked it is refused',
  async (when) => {
    const attribution = clients();
    await known(attribution, 'a', 'b');
    const [one, two] = [calling(attribution, 'a'), calling(attribution, 'b')];
    const asked = when === 'before' ? failure(attribution.question(never)) : undefined;
    one.cancel();
    await settled();
    const refused = asked ?? failure(attribution.question(never));
    await vi.advanceTimersByTimeAsync(2000);
    expect(await refused).toMatchObject({ code: -32603 });
    expect(await attribution.question(never)).toBe(two.given);
  },
);

test('a question of a client whose calls were all cancelled is refused', async () => {
  const attribution = clients();
  await known(attribution, 'a');
  calling(attribution, 'a').cancel();
  await settled();
  expect(await failure(attribution.question(never))).toMatchObject({ code: -32603 });
});

test('a question without a call in flight is refused', async () => {
  const message = expect.stringContaining('no running call can have asked a question');
  expect(await failure(clients().question(never))).toMatchObject({ code: -32603, message });
});

test('a question that could belong to a list waits until the list is answered', async () => {
  const attribution = clients();
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

test('a question that names a task reaches only the client that has begun the task, or has named it last', async () => {
  const attribution = clients();
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
  const attribution = clients();
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

test('a question whose call has ended goes through another call of its client, or is refused', async () => {
  const attribution = clients();
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
  const attribution = clients();
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

test('questions that wait together are attributed together', async () => {
  const attribution = clients();
  await known(attribution, 'slow');
  const calls = ['s', 't'].map((id) => calling(attribution, 'slow', client(id)));
  const [first, second] = [failure(attribution.question(never)), failure(attribution.question(never))];
  calling(attribution, 'slow');
  calls[0]!.finish();
  expect(await Promise.all([first, second])).toEqual([calls[1]!.given, calls[1]!.given]);
});

test('a question that a call of more than 1,000 clients could have asked is refused at once', async () => {
  const attribution = clients();
  const pending = (method: string) => {
    const done = attribution.answer(() => new Promise(() => {}), new TestExchange(method));
    done.catch(() => {});
  };
  for (let count = 0; count < 1001; count += 1) pending('tools/list');
  expect(await failure(attribution.question(never))).toMatchObject({ code: -32603 });
});

test('a cancelled call leaves nothing in memory while it may still ask', async () => {
  const collect = garbageCollector();
  const attribution = clients();
  /** The connection keeps it until the server answers. */
  const overs: unknown[] = [];
  const cancelled = async (): Promise<WeakRef<TestExchange>> => {
    const call = calling(attribution, 'a');
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
  const attribution = clients();
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

test('a log message belongs to the newest call of the only client', async () => {
  const attribution = clients();
  const session = { id: 's', signal: never };
  const [, two] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
  await settled();
  expect(attribution.message()).toBe(two.given);
});

test('all names of more than 256 characters count as one, and are not kept in memory', async () => {
  const attribution = clients();
  const long = 'x'.repeat(256);
  await asking(attribution, `${long}1`);
  const [first, second] = [calling(attribution, `${long}2`), calling(attribution, `${long}3`)];
  await settled();
  expect([first.given !== undefined, second.given]).toEqual([true, undefined]);
  const [collect, other] = [garbageCollector(), clients()];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 50; n += 1) await known(other, JSON.parse(`"${n}${'x'.repeat(1_000_000)}"`) as string);
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
});

test('it is remembered of 1,000 tools that they do not ask', async () => {
  const attribution = clients();
  await known(attribution, ...Array.from({ length: 1001 }, (_, n) => `t${n}`));
  const calls = ['t1000', 't1', 't0', 't0'].map((name) => calling(attribution, name));
  await settled();
  expect(calls.map(({ given }) => given !== undefined)).toEqual([true, true, true, false]);
});

test('a question ends when no call of its client is in flight any more', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b');
  const session = { id: 's', signal: never };
  const [one, two] = [calling(attribution, 'a', session), calling(attribution, 'b', session)];
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

test('after a minute, a question that names no call ends as soon as another client waits', async () => {
  const attribution = clients();
  await known(attribution, 'a', 'b');
  const one = calling(attribution, 'a');
  one.exchange.ask = (_method, _params, options) =>
    new Promise((_, reject) => options!.signal!.addEventListener('abort', () => reject(options!.signal!.reason)));
  const ask = async (exchange: Exchange, { signal } = new AbortController()) =>
    failure(exchange.ask('elicitation/create', {}, { signal }));
  const controller = new AbortController();
  const asked = ask(await attribution.question(controller.signal), controller);
  const named = ask(one.given!);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(await Promise.race([asked, settled()])).toBeUndefined();
  const other = calling(attribution, 'new');
  await vi.advanceTimersByTimeAsync(1000);
  const message = expect.stringContaining(
    'share this connection, and this question had no answer for a minute. Call again',
  );
  expect(await asked).toMatchObject({ code: -32603, message });
  // Its client is known, so it keeps nobody from being asked.
  expect(await Promise.race([named, settled()])).toBeUndefined();
  one.finish();
  await settled();
  const next = new AbortController();
  const answer = (await attribution.question(next.signal)).ask('elicitation/create', {}, { signal: next.signal });
  await vi.advanceTimersByTimeAsync(59_000);
  calling(attribution, 'new');
  await vi.advanceTimersByTimeAsync(500);
  other.reply({ n: 1 });
  expect(await answer).toEqual({ n: 1 });
});

test('one client has at most 100 open questions', async () => {
  const attribution = clients();
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

test('many questions that are refused together cost little, however many calls are in flight', async () => {
  const attribution = clients();
  const sessions = [client('s'), client('t')];
  await known(attribution, 'a');
  for (let count = 0; count < 20_000; count += 1) calling(attribution, 'a', sessions[count % 2]);
  const refused = Array.from({ length: 100 }, () => failure(attribution.question(never)));
  const time = processorTime(() => void vi.advanceTimersByTime(10_000));
  await Promise.all(refused);
  expect(time).toBeLessThan(250);
});

test('the cost of a call does not grow with the number of waiting calls', async () => {
  const attribution = clients();
  await known(attribution, 'quiet');
  await asking(attribution, 'asks');
  const long = calling(attribution, 'asks');
  const waiting = Array.from({ length: 5000 }, () => calling(attribution, 'asks'));
  const answer = (): Promise<JsonObject> => Promise.resolve({});
  const before = process.cpuUsage();
  for (let n = 0; n < 5000; n += 1) await attribution.answer(answer, new TestExchange('tools/call', { name: 'quiet' }));
  // The processor time of this process only. It took 5 seconds when each call checked all that wait.
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  expect(attribution.waiting).toBe(5000);
  for (const call of [long, ...waiting]) call.finish();
  await Promise.all(waiting.map(({ done }) => done));
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
  const { milliseconds } = await callsOfOneClient(clients());
  expect(milliseconds).toBeLessThan(1000);
});

test.each([
  ['questions', (attribution: QuestionAttribution) => void attribution.question(never)],
  ['log messages', (attribution: QuestionAttribution) => void attribution.message()],
])('many %s at once cost no more than one, however many calls are in flight', async (_what, receive) => {
  const attribution = clients();
  await callsOfOneClient(attribution);
  const milliseconds = processorTime(() => {
    for (let n = 0; n < 2000; n += 1) receive(attribution);
  });
  expect(milliseconds).toBeLessThan(500);
});

test('a cancellation is not compared with all calls in flight', async () => {
  const attribution = clients();
  const { given } = await callsOfOneClient(attribution);
  expect(processorTime(() => given.forEach((exchange) => attribution.cancelled(exchange)))).toBeLessThan(300);
});

test('thousands of calls that get their turns together start in several turns of the event loop', async () => {
  vi.useRealTimers();
  const attribution = clients();
  await asking(attribution, 'a');
  const first = calling(attribution, 'a', client('1'));
  const second = client('2');
  const others = Array.from({ length: 1000 }, () => calling(attribution, 'a', second));
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
  const next = calling(attribution, 'a', client('3'));
  for (const call of others) call.finish();
  await vi.waitUntil(() => next.given);
  expect(last.given).toBeUndefined();
});
