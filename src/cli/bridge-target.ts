import { randomBytes } from 'node:crypto';
import { createBridge, type Bridge } from '../bridge/bridge.ts';
import type { CommandServer, ServerConfig, UrlServer } from '../bridge/config/config.ts';
import type { CommandTarget } from '../client/target.ts';
import { printableLine } from '../base/printable.ts';
import type { CleanLog } from '../operate/logs.ts';
import { unrepeated } from '../operate/repetition.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import type { BridgeSettings } from './bridge-settings.ts';
import { hideCredentials } from './output-secrets.ts';
import { withoutRepeatedStarts } from './repeated-starts.ts';
import { relayed } from './screen.ts';
import { secretsOf } from './secrets.ts';
import { saySilence, type SilenceOptions } from './silence.ts';
import { stderrRelay } from './stderr-relay.ts';
import { childEnv, hasCredentials, type Target } from './target.ts';

/**
 * The key if there is no `--state-key`. All bridges share it, so that tasks continue when a server's entry in the file
 * changes.
 */
const OWN_KEY = randomBytes(32);

export interface BridgedServer {
  readonly bridge: Bridge;
  /** Logs it if the answer of the server takes long. */
  readonly inTime: <T>(answer: Promise<T>) => Promise<T>;
}

/**
 * Bridges one server with the given settings. Its secrets are removed from the log.
 *
 * @param name the server's name in the log.
 * @param oneOfSeveral whether log lines for people begin with the name, because there are several servers.
 */
export async function bridgeTo(
  target: Target & Pick<ServerConfig, 'shared'>,
  name: string,
  oneOfSeveral: boolean,
  settings: BridgeSettings,
  log: CleanLog,
): Promise<BridgedServer> {
  log.hide(name, secretsOf(target));
  const named = (line: string): string => (oneOfSeveral && !line.startsWith(`${name} `) ? `${name}: ${line}` : line);
  const warn = unrepeated((line) => log.write('warn', named(line)));
  const { anonymous, handshakeTimeout: connectTimeout, serverIdleTimeout: idleTimeout, listen } = settings;
  const connections = target.shared === undefined ? settings.connections : target.shared ? 'shared' : 'per-session';
  const authorizer = target.kind === 'url' ? await authorizerFor(target, settings, log) : undefined;
  const server =
    target.kind === 'command'
      ? { target: boundedCommand(target, name, oneOfSeveral ? `[${name}] ` : '', settings, log) }
      : {
          target: { url: target.url, transport: target.transport },
          headers: target.headers,
          authorizer,
        };
  const bridge = createBridge({
    ...server,
    ...{
      connections,
      anonymous,
      connectTimeout,
      idleTimeout,
      maxConnections: listen.maxSessions,
      stateKey: settings.stateKey ?? OWN_KEY,
      wiretap: settings.wiretap,
      state: settings.state,
      name,
    },
    onerror: ({ message }) => warn(message),
  });
  const silence: SilenceOptions = {
    ...{ name, timeout: connectTimeout, print: (line) => log.write('warn', line), remote: target.kind === 'url' },
    loggingIn: () => (authorizer?.loginActiveUntil ?? 0) > Date.now(),
  };
  return { bridge, inTime: (answer) => saySilence(answer, silence) };
}

/**
 * A command with limits. The command and its child processes end when this process ends, even if it crashes. It does
 * not get the bridge's secrets, unless its own settings contain their names.
 *
 * @param prefix printed before each stderr line of the command, in a log for people.
 */
export function boundedCommand(
  server: CommandServer,
  name: string,
  prefix: string,
  { maxMemory, ownVariables, log: { format } }: BridgeSettings,
  log: CleanLog,
): CommandTarget {
  const pass = (line: string): void => {
    if (format === 'json') log.write('info', line, { server: name, from: 'stderr' });
    else process.stderr.write(`${prefix}${relayed(printableLine(log.scrub(line)), name)}\n`);
  };
  const onstderr = withoutRepeatedStarts(stderrRelay(pass, () => process.stderr.writableLength));
  const { command, args, cwd } = server;
  return {
    ...{ command, args, name, cwd, env: childEnv(server, ownVariables) },
    ...{ maxMemory, watchdog: true, onstderr },
  };
}

/**
 * Gets tokens if the server requires them, and shares them with `everwire call`. Does nothing if a header has
 * credentials.
 */
async function authorizerFor(
  server: UrlServer,
  { login, stdio }: BridgeSettings,
  log: CleanLog,
): Promise<Authorizer | undefined> {
  if (hasCredentials(server)) return undefined;
  const { loginFor } = await import('./login.ts');
  // A host starts the bridge without a terminal, and a background service has no user who could log in.
  const attended = stdio || (process.stderr.isTTY ?? false);
  const printer = {
    print: (line: string) => log.write('warn', line),
    address: (line: string, address: URL) => log.address('warn', line, address),
  };
  return hideCredentials(loginFor(server, printer, login, attended), (secrets) =>
    log.hide(`login ${server.url}`, secrets),
  );
}
