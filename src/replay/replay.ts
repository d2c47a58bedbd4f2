import type { Client } from '../client/client.ts';
import type { ClientOptions } from '../client/options.ts';
import { Capture } from '../inspect/capture.ts';
import type { WireRecord } from '../inspect/record.ts';
import { isObject, isRequest, isResponse, type JsonObject } from '../jsonrpc/message.ts';
import { callsOf } from '../mock/calls-of.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { Method, NotificationMethod } from '../protocol/methods.ts';
import { profileOf, type Revision } from '../protocol/revisions.ts';
import { CatchUp } from './catch-up.ts';
import { compareSessions, type CompareOptions, type Comparison } from './compare.ts';
import { checkIgnored } from './ignored.ts';
import { isOfTheLibrary, RepeatedSession, taskIdOf } from './repeated-session.ts';
import { eventsOf, textOf, titleOf, type SessionEvents, type SessionRequest } from './session-requests.ts';

export interface ReplayOptions extends Pick<CompareOptions, 'ignore'> {
  /** Connects to the server, with these options and the caller's own. */
  readonly connect: (options: ClientOptions) => Promise<Client>;
  /**
   * Whether a tool may be called, or a method used that the specification does not have. Tools that the server
   * annotates as read-only are always called. Default: no.
   */
  readonly mayCall?: ((name: string) => boolean) | undefined;
  /** The revision to speak. Default: that of each recorded session. */
  readonly revision?: Revision | undefined;
  /** How long a request may go without an answer or progress, in milliseconds. Default 60 000. */
  readonly timeout?: number | undefined;
  /** Ends the replay. */
  readonly signal?: AbortSignal | undefined;
  /** Records the wire. Closed when the replay ends. Default: a new one. */
  readonly capture?: Capture | undefined;
}

/** A recorded request that was not sent. */
export interface NotRepeated {
  /** `tools/call remove`. */
  readonly title: string;
  /** The number of its record. */
  readonly record: number;
  readonly why: string;
  /** The name that would allow it. Undefined if nothing would. */
  readonly allow?: string | undefined;
}

/** How a server answers a recorded session. */
export interface Replay extends Comparison {
  readonly notRepeated: readonly NotRepeated[];
}

/** The requests that only read, or whose effect ends with the session. `tools/call` is decided for each tool. */
const SAFE: ReadonlySet<string> = new Set([
  ...Object.values(Method).filter((method) => method !== Method.CallTool),
  'tasks/list',
  'tasks/result',
]);

/**
 * Sends the requests of a recording to a server, in their order, and compares what the server does with what the
 * recorded one did. Requests that overlapped do so again, and those that were cancelled are cancelled again. The
 * server's questions get the recorded answers. Each recorded session gets a connection of its own.
 *
 * Calls only the tools that the server annotates as read-only, and those of `mayCall`.
 *
 * @throws what `connect` throws; the signal's reason; TypeError if something to ignore is invalid.
 */
export async function replay(recorded: readonly RecordedCall[], options: ReplayOptions): Promise<Replay> {
  checkIgnored(options.ignore);
  const { capture = new Capture(), signal = new AbortController().signal } = options;
  const { calls, notRepeated } = await selected(recorded, options);
  const catchUp = new CatchUp(calls);
  const reading = callsOf(watched(capture, catchUp), true);
  reading.catch(() => {});
  try {
    await repeat(calls, { ...options, signal, capture, catchUp });
  } finally {
    capture.close();
  }
  const repeated = (await reading).filter((call) => !isOfTheLibrary(call));
  const { requests, ...compared } = await compareSessions(calls, repeated, { ...options, countsNew: false });
  // The numbers of the capture say nothing to users.
  const own = requests.map((each) => Object.assign(each, { records: [each.records[0], undefined] as const }));
  return { ...compared, requests: own, notRepeated };
}

async function* watched(capture: Capture, catchUp: CatchUp): AsyncGenerator<WireRecord, void> {
  for await (const records of capture.records())
    for (const record of records) {
      yield record;
      const isMessage = record.layer === 'message' && record.dir === 's>c' && record.method !== undefined;
      if (isMessage) catchUp.hear(record.method);
    }
}

/** The calls that are sent again, and why the others are not. */
async function selected(
  recorded: readonly RecordedCall[],
  options: ReplayOptions,
): Promise<{ calls: RecordedCall[]; notRepeated: NotRepeated[] }> {
  const { mayCall = () => false } = options;
  const isDecided = ({ message: { method, params } }: RecordedCall): boolean =>
    method !== Method.CallTool || mayCall(textOf(params?.['name']));
  const hints = recorded.every(isDecided) ? new Map<string, boolean>() : await readOnlyTools(recorded, options);
  /** The tasks of calls that were not sent. */
  const tasks = new Set<unknown>();
  const left = new Map<number, Omit<NotRepeated, 'title' | 'record'>>();
  for (const call of recorded) {
    const { message } = call;
    if (!isRequest(message)) continue;
    const { method, params = {} } = message;
    const name = textOf(params['name']);
    const { taskId } = params;
    if (tasks.has(taskId)) left.set(call.n, { why: 'its task was not started' });
    else if (method === Method.CallTool && !mayCall(name) && hints.get(name) !== true) {
      const why = hints.has(name) ? 'the tool is not marked as read-only' : 'the server does not list the tool';
      left.set(call.n, { why, allow: name });
      const answer = call.steps.map((step) => step.message).find((each) => isResponse(each));
      const task = answer && 'result' in answer ? taskIdOf(answer.result) : undefined;
      if (task !== undefined) tasks.add(task);
    } else if (method !== Method.CallTool && !SAFE.has(method) && !mayCall(method))
      left.set(call.n, { why: 'the specification has no such method', allow: method });
  }
  const notRepeated = eventsOf(recorded)
    .requests.filter(({ n }) => left.has(n))
    .map((request) => Object.assign(left.get(request.n)!, { title: titleOf(request), record: request.n }));
  return { calls: recorded.filter(({ n }) => !left.has(n)), notRepeated };
}

/** Whether the tools of the server are read-only by their annotations. */
async function readOnlyTools(
  recorded: readonly RecordedCall[],
  { connect, revision = revisionOf(recorded), timeout, signal }: ReplayOptions,
): Promise<Map<string, boolean>> {
  // A connection of its own, because the recorded client may not have sent this request.
  const client = await connect({ revision, timeout, signal, onerror: () => {} });
  try {
    const tools = await client.listTools({ signal });
    return new Map(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint === true]));
  } finally {
    await client.close();
  }
}

/** Something that the recorded client sent. */
interface Sent {
  readonly at: number;
  readonly session: number;
  /** Undefined for the notification that the roots have changed. */
  readonly request: SessionRequest | undefined;
}

async function repeat(
  calls: readonly RecordedCall[],
  options: ReplayOptions & { readonly signal: AbortSignal; readonly capture: Capture; readonly catchUp: CatchUp },
): Promise<void> {
  const { connect, signal, capture, catchUp, timeout = 60_000 } = options;
  const recorded = sessionsOf(calls);
  const sessions = new Map<number, RepeatedSession>();
  const taskIds = new Map<string, string>();
  let open: { readonly end: number; readonly session: number; readonly done: Promise<void> }[] = [];
  const closing: Promise<void>[] = [];
  const all = sentIn(calls, recorded);
  const last = new Map(all.map(({ session }, index) => [session, index]));
  try {
    for (const [index, { at, session, request }] of all.entries()) {
      await Promise.all(open.filter(({ end }) => end <= at).map(({ done }) => done));
      open = open.filter(({ end }) => end > at);
      await catchUp.until(at, signal);
      signal.throwIfAborted();
      let current = sessions.get(session);
      if (!current) {
        const { events, calls: sessionCalls } = recorded.get(session)!;
        const revision = options.revision ?? revisionOf(sessionCalls);
        current = await RepeatedSession.open(events, {
          ...{ revision, timeout, signal, taskIds },
          connect: (own) => connect({ ...own, wiretap: capture, timeout }),
        });
        sessions.set(session, current);
      }
      current.endSubscriptions(at);
      if (!request) await current.rootsChanged();
      else if (request.method === Method.Listen) await current.send(request);
      else if (!isOfTheClient(request))
        open.push({ end: request.answered ?? request.cancelled ?? at, session, done: current.send(request) });
      if (last.get(session) !== index) continue;
      const rest = open.filter((each) => each.session === session).map(({ done }) => done);
      const ending = current;
      const next = all[index + 1]?.at ?? Infinity;
      closing.push(
        Promise.all(rest)
          .then(() => catchUp.until(next, signal))
          .then(() => ending.close()),
      );
      sessions.delete(session);
    }
  } finally {
    await Promise.all([...closing, ...[...sessions.values()].map((session) => session.close())]);
  }
  signal.throwIfAborted();
}

/** Requests that the client library sends itself. */
function isOfTheClient({ method }: SessionRequest): boolean {
  return method === Method.Initialize || method === Method.Discover || method === Method.Ping;
}

interface RecordedSession {
  readonly calls: readonly RecordedCall[];
  readonly events: SessionEvents;
}

function sessionsOf(calls: readonly RecordedCall[]): Map<number, RecordedSession> {
  const found = new Map<number, RecordedCall[]>();
  for (const call of calls) {
    const own = found.get(call.session);
    if (own) own.push(call);
    else found.set(call.session, [call]);
  }
  return new Map([...found].map(([session, own]) => [session, { calls: own, events: eventsOf(own) }]));
}

function sentIn(calls: readonly RecordedCall[], sessions: ReadonlyMap<number, RecordedSession>): Sent[] {
  const requests = [...sessions.values()].flatMap(({ events }) => events.requests);
  const notices = calls.filter(({ message }) => message.method === NotificationMethod.RootsListChanged);
  return [
    ...requests.map((request): Sent => ({ at: request.sent, session: request.session, request })),
    ...notices.map(({ sent, session }): Sent => ({ at: sent, session, request: undefined })),
  ].toSorted((one, other) => one.at - other.at);
}

/** The revision that a session speaks once it is open. */
function revisionOf(own: readonly RecordedCall[]): Revision {
  const opened = own.find(({ message }) => message.method === Method.Initialize);
  const answer = opened?.steps.map(({ message }) => message).find((message) => isResponse(message));
  const negotiated: JsonObject = answer && 'result' in answer && isObject(answer.result) ? answer.result : {};
  return profileOf(negotiated['protocolVersion'])?.revision ?? own.at(-1)!.revision;
}
