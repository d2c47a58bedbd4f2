import { inTurns } from '../base/in-turns.ts';
import { isObject, type JsonObject, type Response } from '../jsonrpc/message.ts';
import { canonicalJson } from '../jsonrpc/shape.ts';
import { Method } from '../protocol/methods.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { comparable, comparableResult } from './comparable.ts';
import { Groups } from './groups.ts';
import { Ignored } from './ignored.ts';
import { Unmatched } from './message-differences.ts';
import {
  eventsInTurns,
  titleOf,
  type ServerMessage,
  type SessionEvents,
  type SessionRequest,
} from './session-requests.ts';
import { differ } from './value-differences.ts';

/** A difference between two sessions. */
export interface Difference {
  /** What differs: `result`, `error`, `answer`, or a `question` or `notification` of the server. */
  readonly what: 'result' | 'error' | 'answer' | 'question' | 'notification';
  /** The method of a question or notification. */
  readonly method?: string | undefined;
  /** Where, as a JSON Pointer. Entries of a list have their names in place of indexes. Empty for all of it. */
  readonly pointer: string;
  /** What is there. Undefined: nothing. */
  readonly before: unknown;
  readonly after: unknown;
}

/** A request of one or both sessions. */
export interface ComparedRequest {
  /** `tools/call add`. Undefined for what the server sent outside of requests. */
  readonly title: string | undefined;
  /** `missing`: only the first session has it. `new`: only the second one. */
  readonly outcome: 'same' | 'changed' | 'missing' | 'new';
  /** The numbers of its records in both sessions. */
  readonly records: readonly [before: number | undefined, after: number | undefined];
  /** `arguments` of a request that is not the same. Both sessions have the same ones: requests are matched by them. */
  readonly args?: unknown;
  /** At most 100. */
  readonly differences: readonly Difference[];
  /** How many differences there are. */
  readonly count: number;
}

/** What is the same in two sessions, and what is not. */
export interface Comparison {
  readonly requests: readonly ComparedRequest[];
  /** How many requests have which outcome. */
  readonly counts: Readonly<Record<ComparedRequest['outcome'], number>>;
  /** Whether anything differs. */
  readonly differs: boolean;
}

export interface CompareOptions {
  /**
   * What does not count: JSON Pointers in results, errors, questions and notifications, in which `*` stands for any one
   * name or index, and methods of notifications. Default none.
   */
  readonly ignore?: readonly string[] | undefined;
  /** Whether requests count that only the second session has. Default true. */
  readonly countsNew?: boolean | undefined;
}

/** The most differences of a request that are kept. */
const MAX_KEPT = 100;

/** Requests with which a client opens a session, or looks whether it is open. Each client does so in its own way. */
const OF_THE_CLIENT: ReadonlySet<string> = new Set([Method.Initialize, Method.Discover, Method.Ping]);

/**
 * Compares two sessions. The n-th request with the same method and params is compared with the n-th one: its answer,
 * and the questions and notifications that came with it. What belongs to one session only does not count: `_meta`, ids,
 * cursors, tokens, the times of tasks, and times at all. Lists are compared by the names of their entries. A
 * request that the first client cancelled is not compared. The event loop runs in between.
 *
 * @throws (rejects) TypeError if something to ignore is neither a JSON Pointer nor the method of a notification.
 */
export async function compareSessions(
  before: readonly RecordedCall[],
  after: readonly RecordedCall[],
  { ignore, countsNew = true }: CompareOptions = {},
): Promise<Comparison> {
  const ignored = new Ignored(ignore);
  const [first, second] = [await eventsInTurns(before), await eventsInTurns(after)];
  const all = await paired(first, second);
  // Messages that came with other requests count on their own.
  const isCounted = ([one, other]: Pair): boolean =>
    one && other ? true : !OF_THE_CLIENT.has((one ?? other)!.method) && (one !== undefined || countsNew);
  const places: Place[] = [];
  await inTurns(all.filter(isCounted), async (pair) => void places.push(await Place.of(pair, ignored)));
  const others = all.filter((pair) => !isCounted(pair));
  const outside = await Unmatched.between(
    [first, ...others.flatMap(([one]) => one ?? [])].flatMap((each) => heardIn(each, ignored)),
    [second, ...others.flatMap(([, other]) => other ?? [])].flatMap((each) => heardIn(each, ignored)),
  );
  Unmatched.cancelOut([...places.map(({ heard }) => heard), outside]);
  const requests: ComparedRequest[] = [];
  await inTurns(places, async (place) => void requests.push(await place.compared()));
  const rest = new Differences(ignored);
  await rest.messages(outside);
  if (rest.count > 0) requests.push(rest.compared(undefined, [undefined, undefined]));
  const counts = { same: 0, changed: 0, missing: 0, new: 0 };
  for (const { title, outcome } of requests) if (title !== undefined) counts[outcome] += 1;
  return { requests, counts, differs: requests.some(({ outcome }) => outcome !== 'same') };
}

type Pair = readonly [before: SessionRequest | undefined, after: SessionRequest | undefined];

/** The requests of both sessions in the order of the first, then those that only the second one has. */
async function paired(first: SessionEvents, second: SessionEvents): Promise<Pair[]> {
  const others = new Groups<SessionRequest>();
  await inTurns(second.requests, (request) => others.add(keyOf(request), request));
  const pairs: Pair[] = [];
  await inTurns(first.requests, (request) => void pairs.push([request, others.take(keyOf(request))]));
  const left = others.left().toSorted((one, other) => one.n - other.n);
  return [...pairs, ...left.map((request): Pair => [undefined, request])];
}

function keyOf({ method, params }: SessionRequest): string {
  return OF_THE_CLIENT.has(method) ? method : `${method} ${canonicalJson(comparable(params))}`;
}

type Heard = Pick<SessionEvents, 'questions' | 'notices'>;
const NOTHING: Heard = { questions: [], notices: [] };

/** A request of both sessions, or of one of them. */
class Place {
  readonly heard: Unmatched;
  readonly #pair: Pair;
  readonly #ignored: Ignored;

  private constructor(pair: Pair, ignored: Ignored, heard: Unmatched) {
    this.#pair = pair;
    this.#ignored = ignored;
    this.heard = heard;
  }

  static async of(pair: Pair, ignored: Ignored): Promise<Place> {
    const [before, after] = pair;
    const [one, other] = before && after && !isCancelled(before) ? [before, after] : [NOTHING, NOTHING];
    return new Place(pair, ignored, await Unmatched.between(heardIn(one, ignored), heardIn(other, ignored)));
  }

  async compared(): Promise<ComparedRequest> {
    const [before, after] = this.#pair;
    const found = new Differences(this.#ignored);
    if (before && after && !isCancelled(before)) {
      found.answers(before.answer, after.answer);
      await found.messages(this.heard);
    }
    const compared = found.compared(titleOf((before ?? after)!), [before?.n, after?.n]);
    return compared.outcome === 'same' ? compared : { ...compared, args: argumentsOf((before ?? after)!) };
  }
}

/** Undefined if it has none. */
function argumentsOf({ params: { arguments: args } }: SessionRequest): unknown {
  return isObject(args) && Object.keys(args).length === 0 ? undefined : args;
}

/** How far a cancelled request would have come is a matter of time. */
function isCancelled({ cancelled, answer }: SessionRequest): boolean {
  return cancelled !== undefined && answer === undefined;
}

function heardIn({ questions, notices }: Heard, ignored: Ignored): ServerMessage[] {
  return [...questions, ...notices].filter(({ method }) => !ignored.method(method));
}

/** Collects the differences of a request. */
class Differences {
  readonly #ignored: Ignored;
  readonly #kept: Difference[] = [];
  count = 0;

  constructor(ignored: Ignored) {
    this.#ignored = ignored;
  }

  answers(before: Response | undefined, after: Response | undefined): void {
    if (!before && !after) return;
    const [one, other] = [before && contentOf(before), after && contentOf(after)];
    if (one && other && one.what === other.what) this.#differ({ what: one.what }, one.value, other.value);
    else this.#add({ what: 'answer', pointer: '', before: before && wholeOf(before), after: after && wholeOf(after) });
  }

  async messages(heard: Unmatched): Promise<void> {
    await inTurns(heard.pairs(), ({ method, before, after }) => {
      const what = method.startsWith('notifications/') ? 'notification' : 'question';
      this.#differ({ what, method }, before, after);
    });
  }

  compared(title: string | undefined, records: ComparedRequest['records']): ComparedRequest {
    const [before, after] = records;
    const found = this.count > 0 ? 'changed' : 'same';
    const isOutside = title === undefined;
    const outcome =
      isOutside || (before !== undefined && after !== undefined) ? found : before === undefined ? 'new' : 'missing';
    return { title, outcome, records, differences: this.#kept, count: this.count };
  }

  #differ(place: Pick<Difference, 'what' | 'method'>, before: unknown, after: unknown): void {
    differ(before, after, (found) => {
      if (!this.#ignored.pointer(found.pointer)) this.#add({ ...place, ...found });
    });
  }

  #add(difference: Difference): void {
    this.count += 1;
    if (this.#kept.length < MAX_KEPT) this.#kept.push(difference);
  }
}

function contentOf(response: Response): { what: 'result' | 'error'; value: JsonObject } {
  return 'error' in response
    ? { what: 'error', value: comparable(response.error) as JsonObject }
    : { what: 'result', value: comparableResult(response.result) };
}

function wholeOf(response: Response): JsonObject {
  return 'error' in response ? { error: response.error } : { result: comparable(response.result) };
}
