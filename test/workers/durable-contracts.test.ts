import { eventLogSuite, sessionStoreSuite, taskStoreSuite } from 'everwire/testing/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeInWorkerd, startWorker, type RunningWorker } from './support/workerd.ts';

/** Runs each case in an object of its own. */
const WORKER = `
  import { eventLogSuite, sessionStoreSuite, taskStoreSuite } from 'everwire/testing/contracts';
  import { durableState } from 'everwire/workers';
  const opened = async (ctx, options) => {
    const state = durableState(ctx, options);
    // As if it was called in the constructor: requests wait.
    await ctx.blockConcurrencyWhile(async () => {});
    return state;
  };
  const suites = {
    events: (ctx) => eventLogSuite(async (events) => (await opened(ctx, { events })).events),
    sessions: (ctx) => sessionStoreSuite(async (sessions) => (await opened(ctx, { sessions })).sessions),
    tasks: (ctx) => taskStoreSuite(async (tasks) => (await opened(ctx, { tasks })).tasks),
  };
  export class Library {
    constructor(ctx) {
      this.ctx = ctx;
    }
    async fetch(request) {
      const [, suite, number] = new URL(request.url).pathname.split('/');
      try {
        await suites[suite](this.ctx)[number].run();
        return new Response('passed');
      } catch (error) {
        return new Response(error.stack);
      }
    }
    alarm() {}
  }
  export default { fetch: (request, { LIBRARY }) => LIBRARY.get(LIBRARY.newUniqueId()).fetch(request) };
`;

/** Only the names of the cases are needed here. */
const elsewhere = (): never => {
  throw new Error('The case runs in the worker');
};
const SUITES = {
  events: eventLogSuite(elsewhere),
  sessions: sessionStoreSuite(elsewhere),
  tasks: taskStoreSuite(elsewhere),
};

describeInWorkerd('a state in a Durable Object keeps the contract', () => {
  let worker: RunningWorker;
  beforeAll(async () => {
    worker = await startWorker(WORKER, { objects: true });
  });
  afterAll(() => worker.stop());

  describe.each(Object.entries(SUITES))('of %s', (name, cases) => {
    test.each(cases.map((each, number) => [each.name, number] as const))('%s', async (_, number) => {
      const response = await fetch(new URL(`/${name}/${number}`, worker.url));
      expect(await response.text()).toBe('passed');
    });
  });
});
