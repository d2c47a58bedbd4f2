import {
  cancellationsArrive,
  changesArrive,
  failsOnlyByFaults,
  isBridge,
  levelsHold,
  listenGoesOn,
  oneChildAtATime,
} from './arrival-checkers.ts';
import { all, type Subject, type Trouble, type Troubles } from './history.ts';

/** Tools that other processes may run again. */
export const RERUNNABLE: ReadonlySet<string> = new Set(['read', 'ask', 'sample']);

/** What contradicts the documentation in the facts about one call or session. */
export type Checker = (subject: Subject, troubles: Troubles, allow: (name: Allowance) => void) => string[];

/**
 * Where the documentation promises less than one may want. The summary says how often each was used. Those in brackets say how
 * often a promise was kept.
 */
export const ALLOWANCES = [
  'a suspended or partitioned process counts as gone after three seconds',
  'a suspended process learns late that a session has ended',
  'a session was lost with the data of Redis',
  'a session was not stored, because Redis was unreachable',
  'an official client gave up a stream that it could have resumed',
  'a library asked again until its time was over',
  'a cancellation was not confirmed',
  'a cancellation was late or lost near a fault',
  'a task was cancelled before its client knew its id',
  'a log level did not hold yet',
  'a log level did not hold near a fault',
  'a stream of changes ended before a change had to arrive',
  'subscriptions/listen was refused near a fault',
  'a call failed near a fault',
  'a call failed because the machine was too busy',
  'a change was late or lost near a fault',
  'a child was replaced because its process or Redis was away',
  '(a cancellation arrived)',
  '(a log level held)',
  '(a change arrived)',
] as const;
export type Allowance = (typeof ALLOWANCES)[number];

/** Milliseconds by which two processes may note the same moment differently. */
const SLACK = 1000;
/** Milliseconds in which a process that sent no heartbeat counts as gone, and one that was slow may do so. */
const GONE = 15_000;

/** Every request ends once, with a result or a clear error, within its bound. */
export const endsOnce: Checker = (subject, troubles, allow) => {
  const [sent] = all(subject, 'sent');
  const ends = all(subject, 'ended');
  if (!sent) {
    // A call that was cancelled may reach a process that is busy much later.
    const runs = all(subject, 'run').filter(({ run }) => !wasAborted(subject, run));
    return runs.length > 0 ? ['a handler ran long after its call had ended'] : [];
  }
  const [end] = ends;
  if (!end) return ['the call did not end'];
  const found: string[] = [];
  if (ends.length > 1) found.push(`the call ended ${ends.length} times`);
  if (end.how === 'timeout' && !sent.resumes) allow('an official client gave up a stream that it could have resumed');
  else if (end.how === 'timeout' && isDisturbed(subject, troubles))
    allow('a library asked again until its time was over');
  else if (end.how === 'timeout') found.push('the call got no response');
  if (end.how === 'silent') found.push('the stream ended without the response');
  const took = end.at - sent.at;
  if (took > sent.bound) found.push(`the call took ${took} ms`);
  if (end.how === 'result' && end.text !== subject.about && all(subject, 'run').length > 0)
    found.push(`the call got the result of another one: ${end.text}`);
  if ((end.how === 'error' || end.how === 'refused') && end.text === '') found.push('the error has no message');
  const causes = troubles.during(sent.at - GONE, end.at + SLACK, 'killed', 'stopped', 'suspended');
  if (end.how === 'lost' && causes.length === 0) found.push('the connection was lost, but no process was stopped');
  return found;
};

/** Whether there were faults in more than half of the time that a library has given its call. */
function isDisturbed(subject: Subject, troubles: Troubles): boolean {
  const [sent] = all(subject, 'sent');
  const [end] = all(subject, 'ended');
  if (!sent || !end || sent.wire) return false;
  const near = troubles.near(sent.at, end.at).toSorted((a, b) => a.from - b.from);
  let [disturbed, last] = [0, sent.at];
  for (const { from, until } of near) {
    const to = Math.min(until, end.at);
    disturbed += Math.max(0, to - Math.max(from, last));
    last = Math.max(last, to);
  }
  return disturbed > (end.at - sent.at) / 2;
}

function wasAborted(subject: Subject, run: string): boolean {
  return all(subject, 'done').some((done) => done.run === run && done.how === 'aborted');
}

/** A tool that may not run twice ran at most once. */
export const ranAtMostOnce: Checker = (subject) => {
  const runs = all(subject, 'run').filter(({ tool }) => !RERUNNABLE.has(tool));
  return runs.length > 1 ? [`${runs[0]!.tool} ran ${runs.length} times`] : [];
};

/** What says that it certainly did not run, ran zero times. */
export const notRunDidNotRun: Checker = (subject) => {
  const said = all(subject, 'ended').find(({ notRun }) => notRun);
  const runs = all(subject, 'run').length;
  return said && runs > 0 ? [`it ran ${runs} times, but the client was told that it did not run: ${said.text}`] : [];
};

/** Steps and events come in order, once, from the right call, and without a gap that was not announced. */
export const streamsAreWhole: Checker = (subject, troubles) => {
  const found: string[] = [];
  for (const { message } of all(subject, 'foreign')) found.push(`a message of another client came: ${message}`);
  const newest = new Map<string, number>();
  for (const { stream, n } of all(subject, 'event')) {
    const before = newest.get(stream) ?? 0;
    if (n === before) found.push(`event ${stream}-${n} came twice`);
    else if (n < before) found.push(`event ${stream}-${n} came after ${stream}-${before}`);
    newest.set(stream, Math.max(n, before));
  }
  let last = 0;
  const steps = new Set<number>();
  for (const { of, n } of all(subject, 'step')) {
    if (of !== subject.about) found.push(`a step of ${of} came`);
    else if (steps.has(n)) found.push(`step ${n} came twice`);
    else if (n < last) found.push(`step ${n} came after ${last}`);
    steps.add(n);
    last = Math.max(last, n);
  }
  const [sent] = all(subject, 'sent');
  const [end] = all(subject, 'ended');
  const isWhole = sent?.wire && (end?.how === 'result' || end?.how === 'error') && all(subject, 'gap').length === 0;
  if (!isWhole) return found;
  // A process that counted as gone may not know that its call has ended, if the end was lost with the data of Redis.
  const isKnown = ({ at }: { at: number }): boolean =>
    end.how !== 'error' || troubles.during(end.at, at, 'redis lost its data').length === 0;
  const missing = all(subject, 'emitted').filter((each) => each.ok && !steps.has(each.n) && isKnown(each));
  if (missing.length > 0) found.push(`these steps were lost: ${missing.map(({ n }) => n).join(', ')}`);
  return found;
};

/** A client is asked only by its own calls, and a handler gets the answer to its own question. */
export const answersReachTheirHandler: Checker = (subject) => {
  const found: string[] = [];
  // The child of a bridge does not say which of its client's calls has asked.
  const isBridged = all(subject, 'at').some(({ process }) => isBridge(process));
  const whose = (call: string): string => (isBridged ? clientOf(call) : call);
  for (const { question } of all(subject, 'asked'))
    if (whose(callOf(question)) !== whose(subject.about)) found.push(`the client was asked ${question}`);
  const tool = all(subject, 'run')[0]?.tool ?? '';
  for (const { question, answer } of all(subject, 'got')) {
    // A handler that runs again gets the answers of its former run.
    const isOwn = RERUNNABLE.has(tool) ? callOf(answer) === subject.about : answer === question;
    if (!isOwn) found.push(`the handler asked ${question}, and got the answer to ${answer}`);
  }
  return found;
};

/** The call of a question. */
export const callOf = (question: string): string => question.slice(0, question.indexOf('?'));

/** The client of a call. */
const clientOf = (call: string): string => call.slice(0, call.indexOf('-'));

/** An answer is refused as unwanted only if nothing waits for it any more. */
export const refusedAnswersAreUnwanted: Checker = (subject, troubles, allow) => {
  const found: string[] = [];
  for (const { at, question, status } of all(subject, 'answered')) {
    const asks = all(subject, 'asks').find((each) => each.question === question);
    if (status !== 400 || !asks) continue;
    const { run, process } = asks;
    const waitedOn = [...all(subject, 'got'), ...all(subject, 'done')].find((each) => each.run === run);
    const isOver = waitedOn ? waitedOn.at <= at + SLACK : troubles.list.some((each) => isEnd(each, process, at));
    if (isOver) continue;
    const near = troubles.during(at - GONE, at + SLACK, 'suspended', 'redis is unreachable', 'redis is slow');
    if (near.some((each) => each.process === process))
      allow('a suspended or partitioned process counts as gone after three seconds');
    else found.push(`the answer to ${question} was refused, but its handler was waiting`);
  }
  return found;
};

function isEnd({ what, process, from }: Trouble, of: string, at: number): boolean {
  return (what === 'killed' || what === 'stopped') && process === of && from <= at + SLACK;
}

/** After a DELETE that succeeded, no process serves the session. */
export const deletedStaysDeleted: Checker = (subject, troubles, allow) => {
  const [deleted] = all(subject, 'deleted');
  const served = all(subject, 'used').filter(({ status }) => status < 300);
  if (!deleted || served.length === 0) return [];
  const late = troubles.during(deleted.at - 60_000, deleted.at + GONE, 'suspended', 'redis is unreachable');
  if (late.length === 0) return ['the session was served after its DELETE had succeeded'];
  allow('a suspended process learns late that a session has ended');
  return [];
};

/** A session is unknown only if it was deleted, or Redis has lost it. */
export const sessionsGoOn: Checker = (subject, troubles, allow) => {
  const [opened] = all(subject, 'opened');
  const [unknown] = all(subject, 'unknown');
  if (!opened || !unknown) return [];
  if (troubles.during(opened.at - GONE, unknown.at, 'redis lost its data').length > 0)
    allow('a session was lost with the data of Redis');
  else if (troubles.during(opened.at - GONE, opened.at + GONE, 'redis is unreachable', 'redis is slow').length > 0)
    allow('a session was not stored, because Redis was unreachable');
  else return ['the session was lost, though Redis had it'];
  return [];
};

export const CHECKERS = {
  endsOnce,
  ranAtMostOnce,
  notRunDidNotRun,
  streamsAreWhole,
  answersReachTheirHandler,
  refusedAnswersAreUnwanted,
  deletedStaysDeleted,
  sessionsGoOn,
  cancellationsArrive,
  levelsHold,
  changesArrive,
  listenGoesOn,
  failsOnlyByFaults,
  oneChildAtATime,
} as const satisfies Record<string, Checker>;

/** What the processes and Redis hold after the storm, when all clients are gone. */
export interface Rest {
  readonly keys: number;
  readonly keysWithoutEnd: readonly string[];
  /** Sessions and tasks that may still be in Redis, because their clients did not end them. */
  readonly left: number;
  /** The heap of each process, in bytes. */
  readonly heaps: readonly number[];
  /** The processes that should have ended. */
  readonly processes: readonly number[];
}

/** Keys that do not belong to a session or task. */
const COMMON_KEYS = 60;
/** Keys of one session: its record, its subscriptions, its events and their index. */
const KEYS_OF_ONE = 6;
const MAX_HEAP = 128 * 1024 * 1024;

/** Memory and keys are bounded, keys expire, and no process is left. */
export function checkRest({ keys, keysWithoutEnd, left, heaps, processes }: Rest): string[] {
  const found: string[] = [];
  const most = COMMON_KEYS + KEYS_OF_ONE * left;
  if (keys > most)
    found.push(`${keys} keys are left in Redis, and ${most} are the most for ${left} sessions and tasks`);
  if (keysWithoutEnd.length > 0) found.push(`these keys do not expire: ${keysWithoutEnd.slice(0, 5).join(', ')}`);
  for (const heap of heaps)
    if (heap > MAX_HEAP) found.push(`a process has a heap of ${Math.round(heap / 2 ** 20)} MiB at rest`);
  if (processes.length > 0) found.push(`these processes are left: ${processes.join(', ')}`);
  return found;
}
