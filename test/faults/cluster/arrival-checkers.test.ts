import { describe, expect, test } from 'vitest';
import { checkChildren } from './arrival-checkers.ts';
import { ended, judge, run, sent, SESSION, START, step, subjectOf, trouble } from './planted.ts';
import { Troubles, type Trouble } from './history.ts';

/** Each checker of what must arrive finds a planted violation, and finds nothing in the same history without it. */

const at = (process: string) => ({ what: 'at', process }) as const;
const done = (how: 'returned' | 'aborted', time: number) => ({ what: 'done', run: 'r1', how, at: time }) as const;

describe('cancellations', () => {
  const confirmed = (status: number | undefined, process?: string) =>
    ({ what: 'cancelled', since: START + 500, at: START + 550, process, status }) as const;
  const cancelled = (...more: Parameters<typeof judge>[0]) => [
    sent('slow', { bound: 60_000 }),
    at('p2'),
    run('slow'),
    confirmed(202),
    ended('cancelled', { at: START + 600 }),
    ...more,
  ];

  test('that arrive are counted', () => {
    const { found, allowed } = judge(cancelled(done('aborted', START + 700)));
    expect(found).toEqual({});
    expect(allowed).toEqual(['(a cancellation arrived)']);
  });

  test.each([
    ['never arrives', []],
    ['arrives after the call was done', [done('returned', START + 60_000)]],
    ['arrives late', [done('aborted', START + 11_000)]],
  ] as const)('one that %s is found', (_, more) => {
    const what = 'the handler at p1 did not learn in time that the call was cancelled';
    expect(judge(cancelled(...more)).found).toEqual({ cancellationsArrive: [what] });
    const elsewhere = [trouble('suspended', 'p3')];
    expect(judge(cancelled(...more), elsewhere).found).toEqual({ cancellationsArrive: [what] });
  });

  test.each([
    ['its process was killed', trouble('killed', 'p1', START + 800)],
    ['Redis was away', trouble('redis is unreachable', undefined, START, START + 20_000)],
  ])('one may be lost if %s', (_, happened) => {
    const { found, allowed } = judge(cancelled(), [happened]);
    expect(found).toEqual({});
    expect(allowed).toEqual(['a cancellation was late or lost near a fault']);
  });

  test('one that has overtaken its call may be lost', () => {
    const late = { ...run('slow'), at: START + 510 };
    const overtaken = cancelled(done('returned', START + 60_000)).map((fact) => (fact.what === 'run' ? late : fact));
    expect(judge(overtaken).found).toEqual({});
  });

  const tried = (...tries: ReturnType<typeof confirmed>[]) => [
    ...cancelled().filter(({ what }) => what !== 'cancelled'),
    ...tries,
  ];

  test.each([
    ['that is not confirmed', tried()],
    ['that is refused', tried(confirmed(undefined, 'p3'), confirmed(503, 'p3'))],
  ])('one %s is found, and may be lost near a fault', (_, facts) => {
    const what = 'no process has confirmed that the call was cancelled';
    expect(judge(facts).found).toEqual({ cancellationsArrive: [what] });
    const { found, allowed } = judge(facts, [trouble('suspended', 'p3')]);
    expect([found, allowed]).toEqual([{}, ['a cancellation was not confirmed']]);
  });

  test('one of a library may be lost at the process that got it, or unseen where the library stays with one process', () => {
    const facts = tried(confirmed(202, 'p3'));
    expect(judge(facts).found).not.toEqual({});
    expect(judge(facts, [trouble('killed', 'p3')]).found).toEqual({});
    const unseen = [sent('slow', { bound: 60_000, wire: false }), ...tried().filter(({ what }) => what !== 'sent')];
    const closed = [...unseen, confirmed(undefined, 'p3')];
    expect(judge(closed).allowed).toEqual(['a cancellation was not confirmed']);
    const unknown = tried(confirmed(404));
    expect(judge(unknown).allowed).toEqual(['a cancellation was not confirmed']);
    expect(judge([...closed, done('aborted', START + 700)]).allowed).toEqual(['(a cancellation arrived)']);
    expect(judge([...unseen, done('aborted', START + 700)]).allowed).toEqual(['(a cancellation arrived)']);
    expect(judge(unseen).found).not.toEqual({});
  });

  test('one of a task by a library may be lost near a fault of any process', () => {
    const facts = (tool: string, end = START + 5000) =>
      tried().map((fact) => {
        if (fact.what === 'sent') return sent(tool, { bound: 60_000, wire: false });
        return fact.what === 'ended' ? ended('cancelled', { at: end }) : fact;
      });
    const away = [trouble('redis is unreachable', 'p3')];
    expect(judge(facts('job')).found).not.toEqual({});
    expect(judge(facts('job'), away).allowed).toEqual(['a cancellation was late or lost near a fault']);
    expect(judge(facts('slow'), away).found).not.toEqual({});
    const early = START + 600;
    expect(judge(facts('job', early)).allowed).toEqual(['a task was cancelled before its client knew its id']);
    expect(judge(facts('slow', early)).found).not.toEqual({});
  });
});

describe('log levels', () => {
  const call = (since: number, ...steps: number[]) => [
    { what: 'level', level: 'warning', since } as const,
    sent('levels'),
    at('p1'),
    run('levels'),
    ...['debug', 'info', 'warning', 'error'].map(
      (level, index) => ({ what: 'logged', run: 'r1', n: index + 1, level }) as const,
    ),
    ...steps.map((n) => step(n)),
    ended('result'),
  ];
  const BEFORE = START - 20_000;

  test.each([
    ['a message below the level', call(BEFORE, 2, 3, 4), 'info came'],
    ['a message that did not come', call(BEFORE, 3), 'error did not come'],
  ])('%s is found', (_, facts, what) => {
    expect(judge(facts).found).toEqual({ levelsHold: [`the level was warning, but ${what}`] });
    const lost = [trouble('redis lost its data', undefined, BEFORE)];
    expect(judge(facts, lost).allowed).toEqual(['a log level did not hold near a fault']);
  });

  test('the right messages are fine, and others are if the level was set just before', () => {
    expect(judge(call(BEFORE, 3, 4))).toEqual({ found: {}, allowed: ['(a log level held)'] });
    expect(judge(call(START - 10, 1, 2, 3, 4)).allowed).toEqual(['a log level did not hold yet']);
  });
});

describe('changes', () => {
  const listening = { what: 'listening', process: 'p2' } as const;
  const changed = { what: 'changed', thing: 'tools', since: START + 5, process: 'p1' } as const;
  const heard = (time: number, thing = 'tools') => ({ what: 'heard', thing, at: time }) as const;
  const closed = (time: number) => ({ what: 'closed', why: 'left', text: '', at: time }) as const;
  const about = 'c1@listen-1';

  test('that arrive are counted', () => {
    const { found, allowed } = judge([listening, changed, heard(START + 8), closed(START + 90_000)], [], about);
    expect(found).toEqual({});
    expect(allowed).toEqual(['(a change arrived)']);
  });

  test.each([
    ['is not heard', [], 'never'],
    ['is heard late', [heard(START + 12_000)], 'after 11990 ms'],
    ['was only heard before', [heard(START + 1)], 'never'],
    ['is another one', [heard(START + 100, 'storm://c1')], 'never'],
  ] as const)('one that %s is found', (_, more, when) => {
    const facts = [listening, changed, ...more, closed(START + 90_000)];
    const { found } = judge(facts, [trouble('killed', 'p3')], about);
    expect(found).toEqual({ changesArrive: [`tools changed, and its client heard of it ${when}`] });
  });

  test('one may be late if Redis was away a minute before, or its stream ended', () => {
    const away = [trouble('redis is unreachable', undefined, START - 50_000, START - 45_000)];
    const late = [listening, changed, heard(START + 12_000), closed(START + 90_000)];
    expect(judge(late, away, about).allowed).toEqual(['a change was late or lost near a fault']);
    expect(judge([listening, changed, closed(START + 3000)], [], about).allowed).toEqual([
      'a stream of changes ended before a change had to arrive',
    ]);
  });
});

describe('subscriptions/listen', () => {
  const facts = (why: 'lost' | 'ended' | 'refused' | 'left') =>
    [
      { what: 'listening', process: 'p2' },
      { what: 'closed', why, text: '' },
    ] as const;

  test.each(['lost', 'ended', 'refused'] as const)('one that was %s is found', (why) => {
    const { found } = judge(facts(why), [trouble('killed', 'p1')], 'c1@listen-1');
    expect(found.listenGoesOn?.join()).toMatch(`subscriptions/listen was ${why}`);
  });

  test('one may end with its process, or if its client leaves', () => {
    expect(judge(facts('lost'), [trouble('killed', 'p2')], 'c1@listen-1').found).toEqual({});
    expect(judge(facts('left'), [], 'c1@listen-1').found).toEqual({});
  });
});

describe('failures', () => {
  const failed = [sent('ask-once'), at('p1'), { ...run('ask-once'), process: 'p2' }, ended('error')] as const;

  test('a failure without a reason is found', () => {
    const elsewhere = [trouble('killed', 'p3')];
    const what = ['it failed, though nothing was wrong: what is wrong'];
    expect(judge(failed, elsewhere).found).toEqual({ failsOnlyByFaults: what });
  });

  test.each(['p1', 'p2', undefined])('a failure with %s has one', (process) => {
    expect(judge(failed, [trouble('suspended', process)]).allowed).toEqual(['a call failed near a fault']);
  });
});

test('a level that cannot be stored is fine if Redis has lost the session before', () => {
  const failed = [sent('logging/setLevel'), at('p1'), ended('error')] as const;
  expect(judge(failed).found.failsOnlyByFaults).toHaveLength(1);
  const lost = trouble('redis lost its data', undefined, START - 100_000);
  expect(judge(failed, [lost]).found).toEqual({});
});

test('a library over HTTP+SSE may fail long after its process has ended', () => {
  const failed = [sent('note', { wire: false }), ended('error', { text: 'fetch failed' })] as const;
  expect(judge(failed).found.failsOnlyByFaults).toHaveLength(1);
  expect(judge(failed, [trouble('killed', 'p1', START - 100_000)]).found).toEqual({});
});

describe('children', () => {
  const counted = (child: number, n: number, process = 'b1') => ({ what: 'counted', child, process, n }) as const;
  const found = (facts: Parameters<typeof judge>[0], ...troubles: Trouble[]) => judge(facts, troubles, SESSION).found;
  const first = [counted(1, 1), counted(1, 2)];

  test('one child counts all', () => {
    expect(found([...first, counted(1, 3)])).toEqual({});
  });

  test.each([
    ['a lost state', [...first, counted(1, 4)], 'child 1 counted 4 after 2'],
    ['a second child', [...first, counted(2, 1)], 'child 2 replaced 1, whose process was there'],
    ['a child that has begun before', [counted(1, 3)], 'child 1 counted 3 after 0'],
  ])('%s is found', (_, facts, what) => {
    expect(found(facts, trouble('killed', 'b2'))).toEqual({ oneChildAtATime: [what] });
  });

  test('a child may follow one whose process was killed, but that one may not go on', () => {
    const killed = trouble('killed', 'b1');
    expect(found([...first, counted(2, 1, 'b2')], killed)).toEqual({});
    const late = { ...counted(1, 3), at: START + 30_000 };
    const both = found([...first, counted(2, 1, 'b2'), late], killed);
    expect(both.oneChildAtATime).toEqual(['child 1 counted again after child 2 had begun']);
  });

  test('the newer child goes on if the former one counts once more, because its process was cut off', () => {
    const AT = START + 30_000;
    const cut = trouble('redis is unreachable', 'b1', START, AT);
    const both = [...first, counted(2, 1, 'b2'), { ...counted(1, 3), at: AT }];
    const newer = { ...counted(2, 2, 'b2'), at: AT + 20_000 };
    expect(found([...both, newer], cut)).toEqual({});
    const former = { ...counted(1, 4), at: AT + 40_000 };
    const what = 'child 1 counted again after child 2 had begun';
    expect(found([...both, former], cut)).toEqual({ oneChildAtATime: [what] });
    // Without its data, Redis may give the client to either, but not to both.
    const lost = trouble('redis lost its data', undefined, AT - 1000);
    expect(found([...both, former], cut, lost)).toEqual({});
    expect(found([...both, newer], cut, lost)).toEqual({});
    expect(found([...both, newer, former], cut, lost)).toEqual({ oneChildAtATime: [what] });
  });

  test('the child of a process that was cut off may count for the first time when another one has begun', () => {
    const AT = START + 30_000;
    const times = (fact: ReturnType<typeof counted>, later: number) => ({ ...fact, at: AT + later });
    const facts = [times(counted(2, 1, 'b2'), 0), times(counted(1, 1), 50), times(counted(2, 2, 'b2'), 100)];
    const cut = (process: string): Trouble => trouble('redis is unreachable', process, AT - 5000, AT + 2000);
    expect(found(facts, cut('b1'))).toEqual({});
    expect(found(facts, cut('b3'))).toEqual({
      oneChildAtATime: ['child 1 replaced 2, whose process was there', 'child 2 counted again after child 1 had begun'],
    });
  });

  test('if the processes of both were cut off, either child may have begun first, but only one goes on', () => {
    const AT = START + 30_000;
    const times = (fact: ReturnType<typeof counted>, later: number) => ({ ...fact, at: AT + later });
    const lost = trouble('redis lost its data', undefined, AT - 10_000, AT - 7000);
    const cut = trouble('redis is unreachable', 'b1', AT - 4000, AT + 3000);
    const both = [times(counted(2, 1, 'b2'), 0), times(counted(1, 1), 1500)];
    const newer = [times(counted(2, 2, 'b2'), 20_000), times(counted(2, 3, 'b2'), 40_000)];
    const former = [times(counted(1, 2), 20_000), times(counted(1, 3), 40_000)];
    expect(found([...both, ...newer], lost, cut)).toEqual({});
    expect(found([...both, ...former], lost, cut)).toEqual({});
    const what = ['child 1 counted again after child 2 had begun'];
    expect(found([...both, ...newer, times(counted(1, 2), 60_000)], lost, cut)).toEqual({ oneChildAtATime: what });
    const killed = trouble('killed', 'b2', AT + 1000);
    expect(found([...both, newer[0]!], lost, cut, killed)).toEqual({
      oneChildAtATime: ['child 2 counted again after child 1 had begun'],
    });
  });

  test('a former child whose process was suspended says nothing about which of the two goes on', () => {
    const AT = START + 30_000;
    const times = (fact: ReturnType<typeof counted>, later: number) => ({ ...fact, at: AT + later });
    const troubles = [
      trouble('suspended', 'b1', AT - 4000, AT + 5500),
      trouble('redis is unreachable', 'b2', AT - 9000, AT - 3000),
    ];
    const both = [times(counted(1, 1), -6000), times(counted(2, 1, 'b2'), 0), times(counted(1, 2), 5600)];
    const newer = times(counted(2, 2, 'b2'), 25_000);
    const former = times(counted(1, 3), 25_000);
    expect(found([...both, newer], ...troubles)).toEqual({});
    expect(found([...both, former], ...troubles)).toEqual({});
    expect(found([...both, newer, times(counted(1, 3), 40_000)], ...troubles)).toEqual({
      oneChildAtATime: ['child 1 counted again after child 2 had begun'],
    });
    expect(found([...both, former, times(counted(2, 2, 'b2'), 40_000)], ...troubles)).toEqual({
      oneChildAtATime: ['child 2 counted again after child 1 had begun'],
    });
  });

  test('children that live too long are found', () => {
    const check = (facts: Parameters<typeof judge>[0], alive: number[], now = START + 60_000) =>
      checkChildren(subjectOf(facts, SESSION), new Troubles(), (child) => alive.includes(child), now);
    const two = [...first, counted(2, 1)];
    expect(check(two, [2])).toEqual([]);
    expect(check(two, [1, 2])).toEqual(['these children of one client live at the same time: 1, 2']);
    expect(check([...two, { what: 'deleted' }], [2])).toEqual(['child 2 lives, but its session was deleted']);
    expect(check([...two, { what: 'deleted' }], [2], START + 1000)).toEqual([]);
  });
});
