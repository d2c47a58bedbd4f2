import { describe, expect, test } from 'vitest';
import { ALLOWANCES, checkRest } from './checkers.ts';
import { CALL, ended, judge, run, sent, SESSION, START, step, trouble } from './planted.ts';

/** Each checker finds a planted violation, and finds nothing in the same history without it. */

const emitted = (n: number, ok = true) => ({ what: 'emitted', run: 'r1', n, ok }) as const;
const event = (n: number) => ({ what: 'event', stream: 's', n }) as const;
describe('a history without a fault', () => {
  test('has no violation', () => {
    const facts = [sent('count'), run('count'), emitted(1), event(1), step(1), emitted(2), event(2), step(2)];
    expect(judge([...facts, event(3), ended('result')])).toEqual({ found: {}, allowed: [] });
  });

  test('of a question has no violation', () => {
    const question = `${CALL}?r1`;
    const asking = [run('ask-once'), { what: 'asks', run: 'r1', process: 'p1', question } as const];
    const answering = [
      { what: 'asked', question } as const,
      { what: 'got', run: 'r1', question, answer: question } as const,
    ];
    const answered = { what: 'answered', question, status: 202 } as const;
    const facts = [sent('ask-once'), ...asking, ...answering, answered, ended('result')];
    expect(judge(facts)).toEqual({ found: {}, allowed: [] });
  });

  test('of a session has no violation', () => {
    const facts = [{ what: 'opened' }, event(1), event(2), { what: 'deleted' }, { what: 'used', status: 404 }] as const;
    expect(judge(facts, [], SESSION)).toEqual({ found: {}, allowed: [] });
  });
});

describe('each request ends once, within its bound', () => {
  test.each([
    ['no end', [sent('note'), run('note')], 'the call did not end'],
    ['two ends', [sent('note'), run('note'), ended('result'), ended('error')], 'the call ended 2 times'],
    ['a late end', [sent('note'), run('note'), ended('result', { at: START + 1001 })], 'the call took 1001 ms'],
    ['no response', [sent('note'), run('note'), ended('timeout')], 'the call got no response'],
    ['a stream without it', [sent('note'), ended('silent')], 'the stream ended without the response'],
    ['an error without a message', [sent('note'), ended('error', { text: '' })], 'the error has no message'],
    ['the result of another call', [sent('note'), run('note'), ended('result', { text: 'c1-2' })], /result of another/],
    ['a cut without a reason', [sent('note'), ended('lost')], /no process was stopped/],
    ['a run of a call that is over', [run('note')], /ran long after/],
  ] as const)('%s is found', (_, facts, what) => {
    const { found } = judge(facts);
    expect(found.endsOnce?.join()).toMatch(what);
  });

  test('a cut is fine if a process was killed', () => {
    expect(judge([sent('note'), ended('lost')], [trouble('killed', 'p1')]).found).toEqual({});
  });

  test('an official client may give up, which is counted', () => {
    const { found, allowed } = judge([sent('note', { resumes: false }), run('note'), ended('timeout')]);
    expect(found).toEqual({});
    expect(allowed).toEqual(['an official client gave up a stream that it could have resumed']);
  });
});

test('a library may give up if faults took most of the time', () => {
  const facts = [sent('note', { wire: false }), ended('timeout', { at: START + 900 })] as const;
  const away = (until: number) => judge(facts, [trouble('redis is slow', 'p1', START - 100, START + until)]);
  expect(away(400).found.endsOnce).toEqual(['the call got no response']);
  expect(away(500).allowed).toEqual(['a library asked again until its time was over']);
});

test('a tool that ran twice is found, unless it may', () => {
  const twice = (tool: string) => judge([sent(tool), run(tool), run(tool, 'r2'), ended('result')]).found;
  expect(twice('note')).toEqual({ ranAtMostOnce: ['note ran 2 times'] });
  expect(twice('read')).toEqual({});
});

test('a run is found of which the client was told that it did not happen', () => {
  const facts = [sent('note'), run('note'), ended('refused', { notRun: true })];
  expect(judge(facts).found.notRunDidNotRun?.join()).toMatch(/it ran 1 times/);
});

describe('streams', () => {
  test.each([
    ['an event twice', [event(1), event(1)], 'event s-1 came twice'],
    ['events in the wrong order', [event(2), event(1)], 'event s-1 came after s-2'],
    ['a step twice', [step(1), step(1)], 'step 1 came twice'],
    ['steps in the wrong order', [step(2), step(1)], 'step 1 came after 2'],
    ['a step of another call', [step(1, 'c2-1')], 'a step of c2-1 came'],
    ['a lost step', [emitted(1), emitted(2), step(1)], 'these steps were lost: 2'],
    ['a message of another client', [{ what: 'foreign', message: 'x' }], 'a message of another client came: x'],
  ] as const)('%s is found', (_, facts, what) => {
    const { found } = judge([sent('count'), run('count'), ...facts, ended('result')]);
    expect(found).toEqual({ streamsAreWhole: [what] });
  });

  test('a step after the end of the call is lost, unless the end was lost with the data of Redis', () => {
    const facts = [sent('count'), run('count'), ended('error'), { ...emitted(1), at: START + 5000 }];
    const lost = trouble('redis lost its data', undefined, START + 4000);
    const lostSteps = (given: typeof facts, happened: typeof lost) => judge(given, [happened]).found.streamsAreWhole;
    const found = ['these steps were lost: 1'];
    expect(judge(facts).found.streamsAreWhole).toEqual(found);
    expect(lostSteps(facts, lost)).toBeUndefined();
    // Before the end, or with a result, the loss explains nothing.
    expect(lostSteps(facts, trouble('redis lost its data', undefined, START - 4000))).toEqual(found);
    const withResult = [...facts.filter(({ what }) => what !== 'ended'), ended('result')];
    expect(lostSteps(withResult, lost)).toEqual(found);
  });

  test.each([
    ['that was announced', [emitted(1), { what: 'gap', why: 'gone' }]],
    ['of what was never accepted', [emitted(1, false)]],
  ] as const)('a gap %s is none', (_, facts) => {
    expect(judge([sent('count'), run('count'), ...facts, ended('result')]).found).toEqual({});
  });
});

describe('questions', () => {
  const asks = { what: 'asks', run: 'r1', process: 'p1', question: `${CALL}?r1` } as const;
  const answered = (status: number) => ({ what: 'answered', question: `${CALL}?r1`, status }) as const;

  test('a question of another call is found', () => {
    const { found } = judge([sent('ask'), run('ask'), { what: 'asked', question: 'c2-1?r1' }, ended('result')]);
    expect(found).toEqual({ answersReachTheirHandler: ['the client was asked c2-1?r1'] });
  });

  test('behind a bridge, a question may come with another call of the same client', () => {
    const askedAt = (process: string, question: string) =>
      judge([sent('add'), { what: 'at', process }, { what: 'asked', question }, ended('result')]).found;
    expect(askedAt('b1', 'c1-9?r1')).toEqual({});
    expect(askedAt('p1', 'c1-9?r1')).toEqual({ answersReachTheirHandler: ['the client was asked c1-9?r1'] });
    expect(askedAt('b1', 'c12-9?r1')).toEqual({ answersReachTheirHandler: ['the client was asked c12-9?r1'] });
  });

  test.each([
    ['ask-once', `${CALL}?r2`],
    ['ask', 'c2-1?'],
  ])('an answer to another question is found (%s)', (tool, answer) => {
    const got = { what: 'got', run: 'r1', question: asks.question, answer } as const;
    const { found } = judge([sent(tool), run(tool), asks, got, ended('result')]);
    expect(found.answersReachTheirHandler?.join()).toMatch(/got the answer to/);
  });

  test('an answer that was refused while its handler was waiting is found', () => {
    const done = { what: 'done', run: 'r1', how: 'failed', at: START + 900 + 1000 } as const;
    const facts = [sent('ask', { bound: 9000 }), run('ask'), asks, answered(400), done, ended('error')];
    expect(judge(facts).found.refusedAnswersAreUnwanted?.join()).toMatch(/its handler was waiting/);
  });

  test.each([
    ['its process was killed', trouble('killed', 'p1', START + 20), ['a call failed near a fault']],
    [
      'its process was suspended',
      trouble('suspended', 'p1', START - 4000, START),
      [ALLOWANCES[0], 'a call failed near a fault'],
    ],
  ] as const)('it may be refused if %s', (_, happened, allowances) => {
    const facts = [sent('ask'), run('ask'), asks, answered(400), ended('error')];
    expect(judge(facts, [happened])).toEqual({ found: {}, allowed: allowances });
  });

  test('it may not be refused because Redis was away for all', () => {
    const facts = [sent('ask'), run('ask'), asks, answered(400), ended('error')];
    const { found } = judge(facts, [trouble('redis is unreachable', undefined, START - 4000)]);
    expect(found.refusedAnswersAreUnwanted).toHaveLength(1);
  });
});

describe('sessions', () => {
  test('a session that is served after its DELETE is found', () => {
    const facts = [{ what: 'opened' }, { what: 'deleted' }, { what: 'used', status: 200 }] as const;
    expect(judge(facts, [], SESSION).found.deletedStaysDeleted).toHaveLength(1);
    const late = [trouble('suspended', 'p1', START - 1000)];
    expect(judge(facts, late, SESSION).allowed).toEqual(['a suspended process learns late that a session has ended']);
  });

  test('a session that was lost is found', () => {
    const facts = [{ what: 'opened' }, { what: 'unknown' }] as const;
    expect(judge(facts, [], SESSION).found.sessionsGoOn).toHaveLength(1);
    const lost = judge(facts, [trouble('redis lost its data')], SESSION);
    expect(lost.allowed).toEqual(['a session was lost with the data of Redis']);
    const away = judge(facts, [trouble('redis is unreachable')], SESSION);
    expect(away.allowed).toEqual(['a session was not stored, because Redis was unreachable']);
  });
});

test.each([
  [{ keys: 500 }, /500 keys are left/],
  [{ keysWithoutEnd: ['k'] }, /do not expire: k/],
  [{ heaps: [2 ** 30] }, /a heap of 1024 MiB/],
  [{ processes: [7] }, /processes are left: 7/],
])('what is left after a storm is bounded (%j)', (planted, what) => {
  const fine = { keys: 10, keysWithoutEnd: [], left: 1, heaps: [2 ** 24], processes: [] };
  expect(checkRest(fine)).toEqual([]);
  expect(checkRest({ ...fine, ...planted }).join()).toMatch(what);
});
