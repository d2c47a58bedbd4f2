import { setMaxListeners } from 'node:events';
import { Chaos, type Weather } from './chaos.ts';
import { checkChildren } from './arrival-checkers.ts';
import { Cancellations } from './cancellations.ts';
import { ALLOWANCES, CHECKERS, checkRest, type Allowance } from './checkers.ts';
import { Cluster, type Kind } from './cluster.ts';
import { History, type Ended, type Subject, type Trouble } from './history.ts';
import { CountingClient } from './counting-client.ts';
import { COUNTING, LIBRARIES, LibraryClient } from './library-client.ts';
import { ModernClient } from './modern-client.ts';
import { Random } from './random.ts';
import { watchStarvation } from './starvation.ts';
import { SessionClient } from './session-client.ts';
import type { ClientParts, StormClient } from './storm-client.ts';
import { closeWire } from './wire.ts';
import { eventually, hasEnded } from '../../support/process.ts';
import { resourcesOf } from '../soak/memory.ts';

export interface StormOptions {
  /** The command of a Redis server. */
  readonly redis: string;
  readonly seed: number;
  /** How long clients begin calls. Milliseconds. */
  readonly duration: number;
  readonly clients: number;
  readonly processes: number;
  /** How many bridges run in addition. Default 2. */
  readonly bridges?: number;
  readonly weather?: Weather;
  /** How long faults last, and the pauses between them. Default 1. */
  readonly scale?: number;
  /** How long clients rest between calls. Default 1; more if the machine has little time for them. */
  readonly pace?: number;
  /** Milliseconds within which each call must end. Default 120 000. */
  readonly bound?: number;
  /** Called every 10 seconds. */
  readonly onprogress?: (progress: Progress) => void;
  /** Called for each violation as soon as it is found. */
  readonly onviolation?: (violation: Violation) => void;
}

export interface Progress {
  readonly seconds: number;
  readonly calls: number;
  readonly violations: number;
  readonly processes: number;
  readonly faults: number;
}

/** Something that contradicts the documentation. */
export interface Violation {
  readonly checker: string;
  readonly what: string;
  /** What is known about the call or session. */
  readonly subject: Subject | undefined;
  /** What happened to processes and Redis shortly before and meanwhile. */
  readonly troubles: readonly Trouble[];
}

export interface Report {
  readonly violations: readonly Violation[];
  /** How many calls have ended in each way. */
  readonly ends: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<string, number>;
  readonly allowances: ReadonlyMap<Allowance, number>;
  readonly facts: number;
}

const REPORT = 10_000;
/** After this time without news, a call is judged. What a suspended process had taken runs within it. Milliseconds. */
const SETTLED = 60_000;
/** Troubles that are shown with a violation. Milliseconds before its first fact. */
const BEFORE = 10_000;

/** Runs a storm, and judges what was observed. */
export async function storm(options: StormOptions): Promise<Report> {
  const { redis, seed, duration, clients, processes, weather = 'all', scale = 1 } = options;
  const { bridges = 2, pace = 1, bound = 120_000 } = options;
  let cancellations: Cancellations | undefined;
  const cluster = await Cluster.start(redis, { server: processes, bridge: bridges }, (exchanged) =>
    cancellations?.observe(exchanged),
  );
  const judge = new Judge(cluster, options.onviolation);
  const { history } = judge;
  cancellations = new Cancellations(history);
  const left = { count: 0 };
  const open = new Set<string>();
  const over = new AbortController();
  // All clients listen to the end of the storm.
  setMaxListeners(0, over.signal);
  const started = Date.now();
  // All clients, fronts and ways to Redis are in this process.
  const endWatch = watchStarvation((from, until) => {
    cluster.troubles.list.push({ what: 'starved', process: undefined, from, until });
  });
  try {
    const all = Array.from({ length: clients }, (_, number) => {
      const name = `c${number + 1}`;
      const random = new Random(seed, name);
      const sseUrl = (): string | undefined => random.of(cluster.of('server'))?.server.sseUrl;
      const parts = { name, sseUrl, history, random, bound, pace, over: over.signal, left, open };
      const urls = { server: cluster.fronts.server.url, bridge: cluster.fronts.bridge.url };
      return clientOf(number, parts, urls);
    });
    const lives = all.map((client) => client.live());
    const chaos = new Chaos(cluster, seed, weather, scale);
    const faults = (): number => [...chaos.counts.values()].reduce((sum, count) => sum + count, 0);
    const timer = setInterval(() => {
      judge.judge(Date.now() - SETTLED);
      options.onprogress?.({
        seconds: Math.round((Date.now() - started) / 1000),
        calls: judge.calls,
        violations: judge.violations.length,
        processes: cluster.members.length,
        faults: faults(),
      });
    }, REPORT);
    await new Promise((resolve) => setTimeout(resolve, duration));
    await chaos.stop();
    over.abort();
    await Promise.all(lives);
    clearInterval(timer);
    judge.judge(Number.POSITIVE_INFINITY);
    await judge.rest(left.count);
    return judge.report(chaos.counts);
  } finally {
    endWatch();
    over.abort();
    closeWire();
    await cluster.end();
  }
}

const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** How many clients use a bridge at most. Each has a process. */
const MOST_COUNTING = 24;

/** Half of the clients see the wire, the others are libraries. A few use a bridge. */
function clientOf(number: number, parts: Omit<ClientParts, 'url'>, urls: Readonly<Record<Kind, string>>): StormClient {
  const server = { ...parts, url: urls.server };
  const bridge = { ...parts, url: urls.bridge };
  const turn = Math.floor(number / 2);
  const isCounting = number % 10 < 2 && number < 5 * MOST_COUNTING;
  if (number % 2 === 1)
    return isCounting
      ? new LibraryClient(bridge, COUNTING[Math.floor(number / 10) % COUNTING.length]!, 'bridge')
      : new LibraryClient(server, LIBRARIES[turn % LIBRARIES.length]!);
  if (isCounting) return new CountingClient(bridge, '2025-11-25');
  const revision = REVISIONS[turn % (REVISIONS.length + 1)];
  return revision ? new SessionClient(server, revision) : new ModernClient(server);
}

/** Whether a process runs. Its parent notices its exit at once. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** How a call has ended, without what is different in each. */
function nameOf({ how, text }: Ended): string {
  if (how !== 'error' && how !== 'refused') return how;
  return `${how}: ${text.replaceAll(/\bc\d+[-@?\w]*|\b[0-9a-f]{8,}\b/g, '…')}`.slice(0, 110);
}

/** Judges calls and sessions when nothing more is heard about them. */
class Judge {
  readonly history: History;
  readonly violations: Violation[] = [];
  readonly #cluster: Cluster;
  readonly #ends = new Map<string, number>();
  readonly #allowances = new Map<Allowance, number>();
  readonly #onviolation: (violation: Violation) => void;
  calls = 0;

  constructor(cluster: Cluster, onviolation: (violation: Violation) => void = () => {}) {
    this.#cluster = cluster;
    this.#onviolation = onviolation;
    this.history = new History(cluster.history, cluster.troubles);
  }

  judge(before: number): void {
    const { troubles } = this.#cluster;
    this.history.readHandlers();
    for (const subject of this.history.settle(before)) {
      const end = subject.facts.find((fact) => fact.what === 'ended');
      if (end) this.#count(this.#ends, nameOf(end));
      if (end) this.calls += 1;
      for (const [checker, check] of Object.entries(CHECKERS)) {
        const allow = (name: Allowance): void => this.#count(this.#allowances, name);
        const found = check(subject, troubles, allow);
        if (found.length > 0) this.#found(checker, found.join('; '), subject);
      }
      for (const what of checkChildren(subject, troubles, isThere, Date.now()))
        this.#found('checkChildren', what, subject);
    }
  }

  #count<K>(counts: Map<K, number>, key: K): void {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }

  #found(checker: string, what: string, subject?: Subject): void {
    const [first, last] = [subject?.facts[0]?.at, subject?.facts.at(-1)?.at];
    const { list } = this.#cluster.troubles;
    const near = first === undefined ? [] : list.filter(({ from, until }) => from <= last! && until >= first - BEFORE);
    const violation = { checker, what, subject, troubles: near };
    this.violations.push(violation);
    this.#onviolation(violation);
  }

  /** Checks what is left when all clients are gone. */
  async rest(left: number): Promise<void> {
    const cluster = this.#cluster;
    for (const crash of cluster.crashes) this.#found('processesRunOn', crash);
    const heaps: number[] = [];
    for (const { server } of cluster.members) heaps.push((await resourcesOf(server)).heap);
    const ended = cluster.started.filter(({ server }) => !cluster.members.some((each) => each.server === server));
    const running = (): number[] => ended.flatMap(({ server: { child, pid } }) => (hasEnded(child) ? [] : [pid]));
    await eventually(() => running().length === 0, 'the processes have ended').catch(() => {});
    const { keys, keysWithoutEnd } = await this.#keys();
    const rest = { keys, keysWithoutEnd, left, heaps, processes: running() };
    for (const what of checkRest(rest)) this.#found('checkRest', what);
  }

  async #keys(): Promise<{ keys: number; keysWithoutEnd: string[] }> {
    const reply = await this.#cluster.command('KEYS', '*');
    const names = reply.split('\r\n').filter((line) => line.startsWith('{'));
    const keysWithoutEnd: string[] = [];
    for (const name of names)
      if ((await this.#cluster.command('PTTL', name)).startsWith(':-1')) keysWithoutEnd.push(name);
    return { keys: names.length, keysWithoutEnd };
  }

  report(faults: ReadonlyMap<string, number>): Report {
    const allowances = new Map(ALLOWANCES.map((name) => [name, this.#allowances.get(name) ?? 0]));
    return { violations: this.violations, ends: this.#ends, faults, allowances, facts: this.history.count };
  }
}
