import { all, type FactOf, type Subject, type Trouble } from './history.ts';
import type { Checker } from './checkers.ts';

/** Checkers of what must arrive at other processes, within a bound in which nothing goes wrong. */

/** The machine may be ten times slower than usual. Milliseconds. */
const ARRIVAL = 10_000;
/** How long a fault may still be felt. Milliseconds. */
const AFTER = 15_000;
/** How long a client may keep a session. Milliseconds. */
const LONG = 600_000;
/** The longest pause before a process tells the others again what has changed. Milliseconds. */
const RETRY = 60_000;
/** A call that takes so long without a fault was kept waiting by a busy machine. Milliseconds. */
const STARVED = 4000;
/** By how much two processes may note the same moment differently. Milliseconds. */
const SLACK = 1000;

/** Whether a process is a bridge, by its name. */
export const isBridge = (name: string): boolean => name.startsWith('b');

/**
 * The processes that had to do with a call. Undefined if its client does not see them, or if a bridge has passed it on to
 * another one.
 */
function processesOf(subject: Subject): ReadonlySet<string> | undefined {
  const seen = all(subject, 'at').map(({ process }) => process);
  if (seen.length === 0 || seen.some(isBridge)) return undefined;
  return new Set([...seen, ...[...all(subject, 'run'), ...all(subject, 'asks')].map(({ process }) => process)]);
}

/** The handler of a call that was cancelled learns of it. */
export const cancellationsArrive: Checker = (subject, troubles, allow) => {
  const [sent] = all(subject, 'sent');
  const [end] = all(subject, 'ended');
  if (!sent || end?.how !== 'cancelled') return [];
  const tries = all(subject, 'cancelled');
  const confirmed = tries.find(({ status }) => status === 202);
  // `sessionsGoOn` judges whether the session may be unknown.
  const isUnknown = tries.some(({ status }) => status === 404);
  const isRefused = sent.wire || tries.some(({ status }) => status !== undefined);
  if (!confirmed && isRefused && !isUnknown) {
    const from = Math.min(end.at, ...tries.map((each) => each.since));
    if (troubles.near(from - AFTER, end.at + ARRIVAL).length === 0)
      return ['no process has confirmed that the call was cancelled'];
    allow('a cancellation was not confirmed');
    return [];
  }
  // A library may close its connection before the response. One that stays with one process cancels there, unseen.
  const isUnanswered = !confirmed && tries.length > 0;
  const [{ since, process: via = '' } = { since: end.at }] = confirmed ? [confirmed] : tries;
  // The library cancels a task by its id, which nobody here knows. So any process may have got that.
  const isHidden = tries.length === 0 && sent.tool === 'job' && !sent.wire;
  const found: string[] = [];
  for (const { at, run, process } of all(subject, 'run')) {
    const concerned = isHidden ? undefined : new Set([process, via]);
    // It may have overtaken its call.
    if (at > since) continue;
    const done = all(subject, 'done').find((each) => each.run === run);
    if (done && done.how !== 'aborted' && done.at <= since + SLACK) continue;
    const late = done ? done.at : Number.POSITIVE_INFINITY;
    const calm = troubles.calmAfter(end.at, ARRIVAL, processesOf(subject));
    if (done?.how === 'aborted' && late <= end.at + ARRIVAL) allow('(a cancellation arrived)');
    else if (late <= calm || troubles.near(since - AFTER, end.at + ARRIVAL, concerned).length > 0)
      allow('a cancellation was late or lost near a fault');
    else if (isUnanswered) allow('a cancellation was not confirmed');
    // The response with the id may have been on its way. Over HTTP, a client that closes the stream never gets it.
    else if (isHidden && since - at <= SLACK) allow('a task was cancelled before its client knew its id');
    else found.push(`the handler at ${process} did not learn in time that the call was cancelled`);
  }
  return found;
};

const LEVELS = ['debug', 'info', 'warning', 'error'];

/** A log level that was set at one process holds at the others. */
export const levelsHold: Checker = (subject, troubles, allow) => {
  const [level] = all(subject, 'level');
  const [run] = all(subject, 'run');
  const [end] = all(subject, 'ended');
  if (!level || !run || end?.how !== 'result' || all(subject, 'gap').length > 0) return [];
  const steps = new Set(all(subject, 'step').map(({ n }) => n));
  const least = LEVELS.indexOf(level.level);
  const wrong = all(subject, 'logged').filter((each) => steps.has(each.n) !== LEVELS.indexOf(each.level) >= least);
  // What waits for a process is lost with the data of Redis.
  const lost = troubles.during(level.since - AFTER, end.at, 'redis lost its data');
  const near = troubles.near(run.at - AFTER, end.at, processesOf(subject));
  if (wrong.length === 0) allow('(a log level held)');
  else if (run.at < level.since + ARRIVAL) allow('a log level did not hold yet');
  else if (lost.length + near.length > 0) allow('a log level did not hold near a fault');
  else {
    const kinds = wrong.map((each) => `${each.level} ${steps.has(each.n) ? 'came' : 'did not come'}`);
    return [`the level was ${level.level}, but ${kinds.join(', ')}`];
  }
  return [];
};

/**
 * What has changed is heard on each stream of changes that was open before. After a fault, other processes may hear of it a
 * minute later, and what could not be stored is lost.
 */
export const changesArrive: Checker = (subject, troubles, allow) => {
  const found: string[] = [];
  if (all(subject, 'gap').length > 0) return found;
  const over = Math.min(
    ...[...all(subject, 'closed'), ...all(subject, 'deleted'), ...all(subject, 'unknown')].map(({ at }) => at),
  );
  const readers = all(subject, 'listening').map(({ process }) => process);
  const heard = all(subject, 'heard');
  for (const { at, thing, since, process } of all(subject, 'changed')) {
    const first = heard.find((each) => each.thing === thing && each.at >= since);
    const processes = new Set([...readers, process]);
    if (first && first.at <= at + ARRIVAL) allow('(a change arrived)');
    else if (troubles.near(since - AFTER - RETRY, at + ARRIVAL, processes).length > 0)
      allow('a change was late or lost near a fault');
    else if (over <= at + ARRIVAL) allow('a stream of changes ended before a change had to arrive');
    else found.push(`${thing} changed, and its client heard of it ${first ? `after ${first.at - at} ms` : 'never'}`);
  }
  return found;
};

/** `subscriptions/listen` is served as long as its client and its process live. */
export const listenGoesOn: Checker = (subject, troubles, allow) => {
  const [closed] = all(subject, 'closed');
  if (!closed || closed.why === 'left') return [];
  const [at] = [...all(subject, 'listening'), ...all(subject, 'at')];
  const kinds: Trouble['what'][] = ['killed', 'stopped', 'suspended'];
  const causes = troubles
    .during(closed.at - AFTER, closed.at + SLACK, ...kinds)
    .filter(({ process }) => !at || process === at.process);
  if (causes.length > 0) return [];
  const near = troubles.near(closed.at - AFTER, closed.at + SLACK, at && new Set([at.process]));
  if (closed.why === 'refused' && near.length > 0) {
    allow('subscriptions/listen was refused near a fault');
    return [];
  }
  return [`subscriptions/listen was ${closed.why}, though its process was there: ${closed.text}`];
};

/** What 2025-03-26 and before do not have. */
const UNSUPPORTED = /does not have the (elicitation|sampling)/;

/** How libraries say that nobody listens at an address. */
const UNREACHABLE = /fetch failed|ECONNREFUSED/;

/** A call fails only if something is wrong with a process or Redis. */
export const failsOnlyByFaults: Checker = (subject, troubles, allow) => {
  const [sent] = all(subject, 'sent');
  const [end] = all(subject, 'ended');
  if (!sent || !end || (end.how !== 'error' && end.how !== 'refused') || UNSUPPORTED.test(end.text)) return [];
  // `sessionsGoOn` judges these.
  if (sent.wire ? end.text.startsWith('404') : /session/i.test(end.text)) return [];
  const isFront = end.text.startsWith('502');
  // The settings of a session are told to all processes, and cannot be stored if Redis has lost the session.
  const isSetting = sent.tool === 'logging/setLevel' || sent.tool === 'resources/subscribe';
  const processes = isFront || isSetting ? undefined : processesOf(subject);
  // A library over HTTP+SSE stays with one process, which may have ended long before.
  const isStuck = !sent.wire && UNREACHABLE.test(end.text);
  const old = isSetting ? 'redis lost its data' : 'killed';
  if ((isSetting || isStuck) && troubles.during(sent.at - LONG, end.at, old, 'stopped').length > 0) {
    allow('a call failed near a fault');
    return [];
  }
  if (troubles.near(sent.at - AFTER, end.at + SLACK, processes).length === 0) {
    // Commands to Redis have this time.
    if (end.at - sent.at >= STARVED) {
      allow('a call failed because the machine was too busy');
      return [];
    }
    return [`it failed, though nothing was wrong: ${end.text}`];
  }
  allow('a call failed near a fault');
  return [];
};

/** All calls of one client over a bridge reach one child, as long as the process that has it lives. */
export const oneChildAtATime: Checker = (subject, troubles, allow) => {
  const found: string[] = [];
  const counts = new Map<number, number>();
  let current: FactOf<'counted'> | undefined;
  /** The other child, while it is unclear which of the two is the newer one. */
  let rival: number | undefined;
  for (const each of all(subject, 'counted')) {
    const { at, child, process, n } = each;
    const before = counts.get(child) ?? 0;
    if (n !== before + 1) found.push(`child ${child} counted ${n} after ${before}`);
    counts.set(child, n);
    // A process that cannot reach Redis, or was suspended just before, does not know that another one has the client.
    const ofThis = troubles.near(at - ARRIVAL, at, new Set([process]));
    if (current && rival !== undefined && (child === rival || child === current.child)) {
      // The one that goes on without trouble has the client.
      if (ofThis.length === 0) rival = undefined;
      if (ofThis.length === 0 || child === current.child) current = each;
      continue;
    }
    rival = undefined;
    if (current && current.child !== child) {
      const ofCurrent = troubles.near(current.at - AFTER, at, new Set([current.process]));
      // The child of such a process may count for the first time.
      const isOld = before > 0 || (ofCurrent.length === 0 && ofThis.length > 0);
      const causes = isOld ? ofThis : ofCurrent;
      if (causes.length === 0 && isOld)
        found.push(`child ${child} counted again after child ${current.child} had begun`);
      else if (causes.length === 0) found.push(`child ${child} replaced ${current.child}, whose process was there`);
      else if (isOld || !causes.some(({ what }) => what === 'killed' || what === 'stopped')) {
        allow('a child was replaced because its process or Redis was away');
        // The new child of a process that could not reach Redis may have begun before the current one.
        if (!isOld && ofThis.length > 0) rival = current.child;
      }
      // The newer one still has the client. If Redis has lost that, it may give the client to either.
      if (isOld && causes.some(({ what }) => what === 'redis lost its data')) current = undefined;
      if (isOld) continue;
    }
    current = each;
  }
  return found;
};

/** A client has at most one living child, and none some time after its session was deleted. @param now that time. */
export function checkChildren(
  subject: Subject,
  troubles: Parameters<Checker>[1],
  isAlive: (child: number) => boolean,
  now: number,
): string[] {
  const alive = [...new Set(all(subject, 'counted').map(({ child }) => child))].filter(isAlive);
  const over = all(subject, 'deleted')[0]?.at ?? all(subject, 'counted').at(-1)?.at ?? now;
  if (troubles.calmAfter(over, 2 * ARRIVAL) > now) return [];
  if (alive.length > 1) return [`these children of one client live at the same time: ${alive.join(', ')}`];
  const isDeleted = all(subject, 'deleted').length > 0;
  return isDeleted && alive.length > 0 ? [`child ${alive[0]} lives, but its session was deleted`] : [];
}
