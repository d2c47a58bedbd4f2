import { startTimer, type Timer } from '../../base/timer.ts';
import type { NodeId } from '../state.ts';
import { FORGET } from './claim-scripts.ts';
import { CommandRefused, type Commands } from './commands.ts';
import { RedisConnection } from './redis-connection.ts';

/** How long a node counts as alive after a heartbeat. Milliseconds. */
export const ALIVE = 3000;
/** The same for a node whose heartbeat names a connection that Redis no longer has. Milliseconds. */
const ALIVE_WITHOUT_CONNECTION = 500;
/**
 * How long after a heartbeat a node trusts that it counts as alive, and the same if it names its connection. Milliseconds.
 * The others wait longer.
 *
 * A node whose heartbeats have failed for the first of these times also trusts no missing one of others: Redis may take none.
 * The last ones that Redis took from nodes that are alive differ in age by an interval and a round trip, which is less than the
 * second between this time and `ALIVE`.
 */
export const TRUSTED = 2000;
const TRUSTED_WITH_CONNECTION = 400;
const INTERVAL = 200;
/** The pause after a heartbeat that has failed. Milliseconds. */
const PAUSE = 50;
/**
 * A node joins again with a heartbeat if it last did so at least this many milliseconds ago. Others send nothing to a node that was
 * suspended until it has joined, so it does that with its first heartbeat.
 */
const JOIN_AFTER = 1000;

/**
 * Tells the other nodes that this one is alive, until it is closed. A heartbeat is a number, and then the connection over which
 * it came. It names none if the node cannot give the next one in time, so that it does not count as gone early.
 */
export class Heartbeat {
  readonly #commands: Commands;
  readonly #node: NodeId;
  readonly #join: () => Promise<void>;
  readonly #onbeat: (sentAt: number, lapsed: boolean) => Promise<void>;
  readonly #onrefused: (error: Error) => void;
  readonly #connection: RedisConnection;
  /** The newest refusal, while there is one: of a heartbeat, and of what tells the others that this node reads messages. */
  #refused: CommandRefused | undefined;
  #joinRefused: CommandRefused | undefined;
  /** When it last joined, by `performance.now()`. */
  #joinedAt = -Infinity;
  #hasBegun = false;
  #count = 0;
  /** The connection that the next heartbeat names. */
  #next: string | undefined;
  /** The last heartbeat that Redis has confirmed. */
  #confirmed: string | undefined;
  /** When that was sent, by `performance.now()`. */
  #confirmedSentAt = -Infinity;
  /** Whether a later one has failed. If Redis is only slow, it takes those of others, too. */
  #hasFailed = false;
  /** Whether a heartbeat that Redis has, or may have, names a connection. */
  #namesConnection = false;
  /** Whether the last heartbeat took longer than it is trusted. */
  #isSlow = false;
  /** When Redis last had not that one, or had taken none for some time, by `performance.now()`. */
  #lapsed = -Infinity;
  #beating: Promise<void> | undefined;
  readonly #looking = new Map<NodeId, Promise<boolean>>();
  #closed = false;
  #timer: Timer;

  /**
   * @param join tells the others that this node reads their messages, if it does.
   * @param onbeat called after each heartbeat, with the time when it was sent, and whether Redis may have had none of this
   * node, or taken none of any node, before. If it fails, this is said again.
   * @param onrefused called if Redis refuses a heartbeat, and again only after it has accepted one.
   */
  constructor(
    commands: Commands,
    node: NodeId,
    join: () => Promise<void>,
    onbeat: (sentAt: number, lapsed: boolean) => Promise<void>,
    onrefused: (error: Error) => void = () => {},
  ) {
    this.#commands = commands;
    this.#node = node;
    this.#join = join;
    this.#onbeat = onbeat;
    this.#onrefused = onrefused;
    this.#connection = new RedisConnection(commands);
    void this.#beatAgain();
  }

  /** Milliseconds after the last confirmed heartbeat was sent, in which no other node takes this one for gone. */
  get trusted(): number {
    return this.#namesConnection ? TRUSTED_WITH_CONNECTION : TRUSTED;
  }

  /** The last heartbeat that Redis has confirmed, and that has taken effect here. */
  get confirmed(): string | undefined {
    return this.#confirmed;
  }

  /** Why Redis refuses what this node sends all the time, in a few words. Undefined if it refuses nothing. */
  get refusal(): string | undefined {
    return (this.#refused ?? this.#joinRefused)?.reason;
  }

  /** Sends a heartbeat. @throws (rejects) StoreUnreachable. */
  beat(): Promise<void> {
    this.#beating ??= this.#beat()
      .catch((error: unknown) => {
        this.#hasFailed = true;
        throw error;
      })
      .finally(() => {
        this.#beating = undefined;
      });
    return this.#beating;
  }

  /**
   * Whether a node is alive, or may be. If Redis may have had no heartbeat of this node, or takes none, it may have missed those
   * of others, too. So they have some time to give another.
   */
  isAlive(node: NodeId): Promise<boolean> {
    if (node === this.#node) return Promise.resolve(true);
    const known = this.#looking.get(node);
    if (known) return known;
    const looking = this.#look(node).finally(() => this.#looking.delete(node));
    this.#looking.set(node, looking);
    return looking;
  }

  /** The others need not wait until this node counts as ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#commands.send(['DEL', this.#key]);
  }

  async #look(node: NodeId): Promise<boolean> {
    const key = this.#commands.key(`n:${node}`);
    const asked = performance.now();
    const [signs, left] = await Promise.all([
      this.#commands.send(['MGET', key, this.#key]),
      this.#commands.send(['PTTL', key]),
    ]);
    const [sign, own] = signs as unknown[];
    if (typeof sign === 'string') return !(await this.#hasLostConnection(node, sign, ALIVE - Number(left)));
    const mayHaveBeenMissed = typeof own !== 'string' || this.#mayBeRefused || hasStood(asked);
    return mayHaveBeenMissed || performance.now() - this.#lapsed < ALIVE;
  }

  /**
   * Whether a node counts as ended because it has lost its connection, and has sent no heartbeat over another one. Then it
   * is forgotten, so that it learns of that from its next heartbeat.
   *
   * @param age of its heartbeat, in milliseconds.
   */
  async #hasLostConnection(node: NodeId, sign: string, age: number): Promise<boolean> {
    const [, connection] = sign.split(' ');
    if (connection === undefined || age < ALIVE_WITHOUT_CONNECTION) return false;
    // After Redis was unreachable, all need some time to connect again.
    if (!(await this.#connection.knowsClosed(connection, ALIVE))) return false;
    return (await this.#commands.count(FORGET, node, sign)) === 1;
  }

  async #beatAgain(): Promise<void> {
    const failure = await this.beat().then(
      () => undefined,
      (error: Error) => error,
    );
    if (this.#closed) return;
    const refused = refusalIn(failure);
    if (refused && !this.#refused) this.#onrefused(refused);
    this.#refused = refused;
    this.#timer = startTimer(failure ? PAUSE : INTERVAL, () => void this.#beatAgain());
    this.#timer?.unref();
  }

  async #beat(): Promise<void> {
    const sentAt = performance.now();
    const named = this.#isSlow ? undefined : this.#next;
    // If Redis cannot be reached, all nodes know that from their own commands.
    if (sentAt - this.#joinedAt >= JOIN_AFTER) {
      this.#joinedAt = sentAt;
      this.#join().then(
        () => (this.#joinRefused = undefined),
        (error: unknown) => {
          this.#joinedAt = -Infinity;
          this.#joinRefused = refusalIn(error);
        },
      );
    }
    const sign = [(this.#count += 1), ...(named === undefined ? [] : [named])].join(' ');
    this.#namesConnection ||= named !== undefined;
    // All commands of a heartbeat are one write. If the connection is another one now, the next heartbeat names none: until
    // then, the others wait longer than this node trusts this one.
    const looking = this.#connection.look();
    const setting = this.#commands.send(['SET', this.#key, sign, 'PX', String(ALIVE), 'GET']);
    const beating = setting.then((before) => {
      // Redis may have got others whose confirmation was lost, after it had none.
      const mayHaveHadNone = before !== this.#confirmed || this.#mayBeRefused || hasStood(sentAt);
      // Also at the start: Redis may have come back just before. And at once: the next reply may be about other nodes.
      if (mayHaveHadNone) this.#lapsed = performance.now();
      return mayHaveHadNone;
    });
    const [next, mayHaveHadNone] = await Promise.all([looking, beating]);
    this.#next = next;
    this.#isSlow = performance.now() - sentAt >= TRUSTED_WITH_CONNECTION;
    const lapsed = this.#hasBegun && mayHaveHadNone;
    this.#hasBegun = true;
    await this.#onbeat(sentAt, lapsed);
    this.#namesConnection = named !== undefined;
    this.#confirmed = sign;
    this.#confirmedSentAt = sentAt;
    this.#hasFailed = false;
  }

  /** Whether Redis may have taken no heartbeat of any node for some time. */
  get #mayBeRefused(): boolean {
    return this.#hasFailed && performance.now() - this.#confirmedSentAt >= TRUSTED;
  }

  get #key(): string {
    return this.#commands.key(`n:${this.#node}`);
  }
}

function refusalIn(error: unknown): CommandRefused | undefined {
  return error instanceof CommandRefused ? error : undefined;
}

/**
 * Whether Redis may have stood still since a command was sent whose reply has come now. Then heartbeats have lapsed, and it reads
 * those that wait one after the other.
 */
function hasStood(sentAt: number): boolean {
  return performance.now() - sentAt >= TRUSTED;
}
