import type { Cluster, Member } from './cluster.ts';
import type { RedisFault } from './redis-proxy.ts';
import { Random } from './random.ts';

/** Which faults happen: none, those of processes, those of Redis, or all. */
export type Weather = (typeof WEATHERS)[number];
export const WEATHERS = ['calm', 'processes', 'redis', 'all'] as const;

interface Fault {
  readonly name: string;
  /** Resolves when it is over. */
  run(): Promise<void>;
}

/** How long faults happen, and then none. Milliseconds in a long storm. */
const STORM = 50_000;
const LULL = 30_000;

/** Does harm to a cluster until it is stopped. Which faults come in which order depends only on the seed. */
export class Chaos {
  readonly #cluster: Cluster;
  /** How long faults last. 1 is for long storms. */
  readonly #scale: number;
  readonly #counts = new Map<string, number>();
  /** Ends pauses, when the storm is over. */
  readonly #over = new AbortController();
  readonly #work: Promise<void>[] = [];
  readonly #started = Date.now();

  constructor(cluster: Cluster, seed: number, weather: Weather, scale: number) {
    this.#cluster = cluster;
    this.#scale = scale;
    const add = (kind: Weather, choose: (random: Random) => Fault): void => {
      if (weather === kind || weather === 'all') this.#work.push(this.#repeat(new Random(seed, kind), choose));
    };
    add('processes', (random) => this.#ofProcess(random));
    add('redis', (random) => this.#ofRedis(random));
  }

  /** How often each fault has happened. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Waits for the end of the current faults. Afterwards, all processes run and Redis answers. */
  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#work);
  }

  async #repeat(random: Random, choose: (random: Random) => Fault): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      await this.#pause(random.between(300, 4000));
      await this.#lull();
      const fault = choose(random);
      if (signal.aborted) return;
      this.#counts.set(fault.name, (this.#counts.get(fault.name) ?? 0) + 1);
      await fault.run();
    }
  }

  /** Waits for the end of a lull. What must arrive in time is best seen while nothing happens. */
  async #lull(): Promise<void> {
    const passed = ((Date.now() - this.#started) / this.#scale) % (STORM + LULL);
    if (passed > STORM) await this.#pause(STORM + LULL - passed);
  }

  /** @param ms in a long storm. */
  #pause(ms: number): Promise<void> {
    const { signal } = this.#over;
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, ms * this.#scale);
      if (signal.aborted) finish();
      else signal.addEventListener('abort', finish);
    });
  }

  #ofProcess(random: Random): Fault {
    const { members } = this.#cluster;
    const member = members[random.between(0, 1000) % members.length]!;
    const [wait, long] = [random.between(0, 2000), random.between(1000, 10_000)];
    return random.weighted<Fault>([
      [3, { name: 'kill -9', run: () => this.#kill(member, wait) }],
      [3, { name: 'SIGSTOP and SIGCONT', run: () => this.#suspend(member, long) }],
      [2, { name: 'SIGTERM and replacement', run: () => this.#roll(member) }],
    ]);
  }

  async #kill(member: Member, wait: number): Promise<void> {
    await this.#cluster.kill(member);
    await this.#pause(wait);
    await this.#cluster.fill();
  }

  async #suspend({ name, server }: Member, long: number): Promise<void> {
    const end = this.#cluster.troubles.begin('suspended', name);
    server.child.kill('SIGSTOP');
    await this.#pause(long);
    server.child.kill('SIGCONT');
    end();
  }

  async #roll(member: Member): Promise<void> {
    await this.#cluster.add(member.kind);
    await this.#cluster.stop(member);
  }

  #ofRedis(random: Random): Fault {
    const { members } = this.#cluster;
    const one = random.next() < 0.5 ? members[random.between(0, 1000) % members.length]! : undefined;
    const [wait, long, delay] = [random.between(0, 5000), random.between(500, 8000), random.between(5, 300)];
    const cutAfter = random.between(0, 3000);
    const swallow = random.of(['commands', 'replies', 'both'] as const);
    return random.weighted<Fault>([
      [1, { name: 'Redis killed', run: () => this.#killRedis(wait, false) }],
      [1, { name: 'Redis killed, with its data', run: () => this.#killRedis(wait, true) }],
      [1, { name: 'FLUSHALL', run: () => this.#flush() }],
      [3, { name: 'delays to Redis', run: () => this.#hinder('redis is slow', { delay }, long, one) }],
      [3, { name: 'cut replies of Redis', run: () => this.#hinder('redis is unreachable', { cutAfter }, long, one) }],
      [3, { name: `no ${swallow} of Redis`, run: () => this.#hinder('redis is unreachable', { swallow }, long, one) }],
    ]);
  }

  async #killRedis(wait: number, loses: boolean): Promise<void> {
    const { redis, troubles } = this.#cluster;
    const end = troubles.begin('redis is unreachable');
    const found = loses ? troubles.begin('redis lost its data') : () => {};
    if (loses) await this.#cluster.command('FLUSHALL');
    await redis.kill();
    await this.#pause(wait);
    await redis.restart();
    end();
    found();
  }

  async #flush(): Promise<void> {
    const end = this.#cluster.troubles.begin('redis lost its data');
    await this.#cluster.command('FLUSHALL');
    end();
  }

  /** @param only the process that it happens to. Default: all. */
  async #hinder(
    what: 'redis is slow' | 'redis is unreachable',
    fault: RedisFault,
    long: number,
    only: Member | undefined,
  ): Promise<void> {
    // A process that starts meanwhile reaches Redis.
    const ends = (only ? [only] : this.#cluster.members).flatMap(({ name, proxy }) => [
      this.#cluster.troubles.begin(what, name),
      proxy.begin(fault),
    ]);
    await this.#pause(long);
    for (const end of ends) end();
  }
}
