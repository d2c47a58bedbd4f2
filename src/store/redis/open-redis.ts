import { ifMissing } from '../../base/missing-package.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { waitFor } from '../../base/wait.ts';
import { isReplica } from './commands.ts';

/** Milliseconds until a connection must be there. */
const CONNECT_TIMEOUT = 5000;
/** The longest pause between two attempts to connect. Milliseconds. */
const MAX_PAUSE = 1000;
/** The most commands that wait for an answer. */
const MAX_QUEUE = 100_000;

/** How old a connection to a replica is when it is opened again. Milliseconds. Until a failover is over, there may be only a replica. */
const MIN_AGE = 1000;

/** An open connection to Redis, which is opened again when it is lost. */
export interface OpenRedis {
  sendCommand(args: string[]): Promise<unknown>;
  close(): Promise<void>;
}

/** The URL of a Redis server without its credentials, for messages. */
export function shownUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/**
 * Connects to Redis. While there is no connection, commands fail at once.
 *
 * @param url `redis://` or `rediss://`, with the user, the password and the number of the database if needed.
 * @param timeout after which a command fails and the connection counts as lost, in milliseconds.
 * @param onerror gets why a lost connection cannot be opened again, once for each reason until it is open.
 * @throws Error if there is no connection. The message has no credentials.
 */
export async function openRedis(
  url: string,
  timeout: number,
  onerror: (error: Error) => void = () => {},
): Promise<OpenRedis> {
  const { createClient } = await import('@redis/client').catch(ifMissing('a store in Redis needs', '@redis/client'));
  let isOpen = false;
  const reported = new Set<string>();
  const unreachable = (error: NodeJS.ErrnoException): Error => {
    // An error of several addresses has only a code.
    const why = error.message || error.code;
    return new Error(`The store ${shownUrl(url)} cannot be reached: ${why}`, { cause: error });
  };
  const report = (error: Error): void => {
    const failure = unreachable(error);
    if (!isOpen || reported.has(failure.message)) return;
    reported.add(failure.message);
    onerror(failure);
  };
  const noReply = (): Error => new Error(`no reply within ${timeout} ms`);
  const create = (onfailed: (error: Error) => void) => {
    let isLost = true;
    let greeting: ReturnType<typeof setTimeout> | undefined;
    const created = createClient({
      url,
      disableOfflineQueue: true,
      // It would make a timer and a signal for each command. The time limit below serves all of them.
      commandOptions: { timeout: 0 },
      // To ask for these, it would look up the host of the URL, and fail if that is an IPv6 address in brackets.
      maintNotifications: 'disabled',
      commandsQueueMaxLength: MAX_QUEUE,
      socket: {
        connectTimeout: CONNECT_TIMEOUT,
        reconnectStrategy: (retries) => Math.min(2 ** retries * 10, MAX_PAUSE) * (0.5 + Math.random() / 2),
      },
    });
    created.on('connect', () => {
      clearTimeout(greeting);
      // Its first commands are not ours, and have no time limit.
      greeting = setTimeout(() => {
        if (created === client) report(noReply());
        replace(created);
      }, timeout).unref();
    });
    created.on('ready', () => {
      clearTimeout(greeting);
      isLost = false;
      reported.clear();
    });
    return created.on('error', (error: Error) => {
      // A connection that is lost may be open again at once.
      if (isLost && created === client) onfailed(error);
      isLost = true;
      // It could not read a reply. From now on, each command would get the reply of another one.
      if (created.isReady) replace(created);
    });
  };
  let failure: Error | undefined;
  let client = create((error) => {
    failure = error;
    report(error);
  });
  let since = performance.now();
  const replace = (lost: typeof client): void => {
    if (lost !== client || !isOpen) return;
    client = create(report);
    since = performance.now();
    client.connect().catch(() => {});
    // What else waits for it fails after this.
    setImmediate(() => lost.destroy());
  };
  try {
    const work = client.connect();
    // It would try again for ever.
    const failed = new Promise<never>((_, reject) => void client.once('error', reject));
    await waitFor(Promise.race([work, failed]), { timeout: CONNECT_TIMEOUT });
  } catch (error) {
    client.destroy();
    throw unreachable(failure ?? (error as Error));
  }
  isOpen = true;
  const limit = new TimeLimit(timeout);
  return {
    sendCommand: (args) => {
      const used = client;
      // Nothing tells that a peer is gone, if the network only swallows what is sent.
      const timeoutError = (): Error => {
        replace(used);
        return noReply();
      };
      const work = used.sendCommand(args);
      work.catch(({ message }: Error) => {
        // After a failover, the address may already lead to another server.
        if (isReplica(message) && performance.now() - since >= MIN_AGE) replace(used);
      });
      return limit.within(work, timeoutError);
    },
    close: async () => {
      isOpen = false;
      client.destroy();
    },
  };
}
