import { basename, extname } from 'node:path';
import { createBridge } from '../bridge/bridge.ts';
import type { Target } from '../client/target.ts';
import type { Service } from '../core/exchange.ts';
import type { CleanLog } from '../operate/logs.ts';
import { unrepeated } from '../operate/repetition.ts';
import { Method } from '../protocol/methods.ts';
import { createObserver } from './bridge-observer.ts';
import type { BridgeFlags } from './bridge-options.ts';
import { bridgeLog, serveBridge } from './bridge-serve.ts';
import { readSettings, type BridgeSettings } from './bridge-settings.ts';
import { authorizerFor, boundedCommand, connectionsOf } from './bridge-target.ts';
import { Failure } from './failure.ts';
import { atEnd, stop } from './shutdown.ts';

/** `everwire bridge`: a server, wherever it is, offered over HTTP or over stdio. */
export async function bridge(words: string[], flags: BridgeFlags): Promise<void> {
  const settings = readSettings(flags);
  const log = await bridgeLog(settings);
  if (settings.config !== undefined) {
    if (words.length > 0)
      throw Failure.usage(`--config names the servers, so ${JSON.stringify(words[0])} is one too many`);
    return (await import('./bridge-fleet.ts')).bridgeFleet(settings.config, settings, log);
  }
  const { name, known, target } = behind(words, settings, log);
  const warn = unrepeated((line) => log.write('warn', line));
  const bridged = createBridge({
    target,
    ...connectionsOf(settings),
    headers: settings.headers,
    ...(typeof target === 'string' && {
      authorizer: await authorizerFor(new URL(target), settings.headers, settings, log),
    }),
    onerror: ({ message }) => warn(message),
  });
  atEnd(() => bridged.close());
  const observer = await createObserver(settings, log);
  const service = observer.server(name, bridged);
  const problem = (error: Error): string => `${known} did not start as an MCP server: ${error.message}`;
  if (settings.stdio) {
    return serveBridge({ name, service: stoppingWith(service, problem, log) }, observer, settings, log);
  }
  try {
    // A server that cannot work should be known before the first client comes.
    await bridged.check();
  } catch (error) {
    throw new Error(problem(error as Error), { cause: error });
  }
  return serveBridge({ name, service }, observer, settings, log);
}

interface Behind {
  /** What clients may call it. */
  readonly name: string;
  /** What the person knows it by. */
  readonly known: string;
  readonly target: Target;
}

/**
 * The server that the words behind the options mean.
 *
 * @throws Failure with code 2 where they mean none.
 */
function behind(words: string[], settings: BridgeSettings, log: CleanLog): Behind {
  const [first, ...args] = words;
  if (first === undefined) throw Failure.usage('a server is missing: a URL, a command behind --, or --config');
  if (/^https?:\/\//i.test(first)) return { ...atUrl(first, args), target: first };
  if (Object.keys(settings.headers).length > 0) {
    throw Failure.usage('--header is for servers with a URL, and this one is a command');
  }
  const name = nameOf(first, args);
  // For people its stderr goes to ours as it is.
  const target = boundedCommand({ command: first, args }, name, '', settings, log);
  return { name, known: basename(first), target };
}

function atUrl(text: string, others: string[]): Omit<Behind, 'target'> {
  if (others.length > 0) throw Failure.usage(`options stand before the URL: ${others[0]}`);
  if (!URL.canParse(text)) throw Failure.usage('the URL of the server cannot be read');
  const { hostname, username, password, origin, pathname } = new URL(text);
  if (username || password) throw Failure.usage('a URL must hold no credentials; use --header');
  return { name: hostname.replace(/^\[|\]$/g, ''), known: origin + pathname };
}

/** Over stdio there is one session, and one server: where that does not start, there is nothing to serve. */
function stoppingWith(service: Service, problem: (error: Error) => string, log: CleanLog): Service {
  return async (exchange) => {
    try {
      return await service(exchange);
    } catch (error) {
      if (exchange.method === Method.Discover) {
        log.write('error', problem(error as Error));
        process.exitCode = 1;
        // The client gets its answer first.
        setImmediate(() => void stop());
      }
      throw error;
    }
  };
}

const RUNNERS = new Set(['npx', 'bunx', 'pnpx', 'uvx', 'node', 'bun', 'deno', 'python', 'python3', 'sh', 'bash']);

/** What a client may call the server: by its package or script, not by what runs it. */
export function nameOf(command: string, args: readonly string[]): string {
  const runner = basename(command, extname(command));
  const target = RUNNERS.has(runner) ? args.find((arg) => !arg.startsWith('-')) : undefined;
  const name = basename(target ?? command).replace(/(?<=.)@.*$/, '');
  return name.slice(0, name.length - extname(name).length) || runner;
}
