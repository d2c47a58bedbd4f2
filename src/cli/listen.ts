import type { Change } from '../client/handlers.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { SubscriptionFilter } from '../protocol/types.ts';
import type { ClientFlags } from './client-options.ts';
import type { Work } from './with-client.ts';
import { ExitCode, Failure } from './failure.ts';
import { oneLine } from './screen.ts';

export interface ListenFlags extends ClientFlags {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  /** How many changes to wait for. Default: until interrupted. */
  readonly count?: number;
}

/** The most changes that wait for the reader of the output. */
const MAX_WAITING = 10_000;

/** `everwire listen`: prints one line for each change at a server, until it is interrupted. */
export function listen(uris: readonly string[], flags: ListenFlags): Work {
  return async ({ client, output, terminal, signal }) => {
    const filter = filterOf(uris, flags, client.serverCapabilities);
    let { count: left = Infinity } = flags;
    const enough = new AbortController();
    let written = Promise.resolve();
    let waiting = 0;
    let unread = false;
    const onchange = (change: Change): void => {
      if (enough.signal.aborted) return;
      left -= 1;
      waiting += 1;
      written = written
        .then(() => (output.json ? output.value(change, { line: true }) : output.text(lineOf(change))))
        .then(() => void (waiting -= 1));
      written.catch(() => enough.abort());
      unread ||= waiting > MAX_WAITING;
      if (left === 0 || unread) enough.abort();
    };
    const ending = AbortSignal.any([signal, enough.signal]);
    let error: Error | undefined;
    try {
      const subscription = await client.subscribe(filter, onchange, { signal: ending });
      terminal.print(`listening to ${describe(subscription.filter)}`);
      error = await subscription.closed;
    } catch (thrown) {
      // The first changes may come before the server has accepted the subscription.
      if (!enough.signal.aborted) throw thrown;
    }
    if (unread) throw new Failure(ExitCode.Refused, 'nobody reads the output: more than 10,000 changes wait');
    await written;
    signal.throwIfAborted();
    if (error) throw error;
  };
}

/** The requested kinds of changes. Default: everything that the server announces. */
function filterOf(uris: readonly string[], flags: ListenFlags, capabilities: JsonObject): SubscriptionFilter {
  const filter: SubscriptionFilter = {};
  if (uris.length > 0) filter.resourceSubscriptions = [...uris];
  const any = uris.length > 0 || flags.tools || flags.prompts || flags.resources;
  for (const list of ['tools', 'prompts', 'resources'] as const) {
    const capability: unknown = capabilities[list];
    const offered = isObject(capability) && capability['listChanged'] === true;
    if (any ? flags[list] : offered) filter[`${list}ListChanged`] = true;
  }
  if (Object.keys(filter).length === 0)
    throw new Failure(ExitCode.Refused, 'the server does not announce changes of its lists');
  return filter;
}

function describe({ resourceSubscriptions = [], ...lists }: SubscriptionFilter): string {
  const names = Object.entries(lists)
    .filter(([, wanted]) => wanted === true)
    .map(([name]) => name.replace('ListChanged', ''));
  return [...names, ...resourceSubscriptions].join(', ') || 'nothing: the server accepted no part of the subscription';
}

function lineOf(change: Change): string {
  switch (change.type) {
    case 'resource':
      return `updated ${oneLine(change.uri)}`;
    case 'task':
      return `task ${oneLine(change.task.taskId)} ${oneLine(change.task.status)}`;
    default:
      return `changed ${change.type}`;
  }
}
