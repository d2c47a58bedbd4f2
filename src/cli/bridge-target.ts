import type { BridgeOptions } from '../bridge/bridge.ts';
import type { CommandTarget } from '../client/target.ts';
import type { CleanLog } from '../operate/logs.ts';
import { printableLine } from '../core/printable.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import type { BridgeSettings } from './bridge-settings.ts';
import { secretsIn } from './secrets.ts';
import { StderrRelay } from './stderr-relay.ts';
import { unsetVariables } from './unset-variables.ts';

/**
 * A command behind a bridge, within its bounds: it and all that it starts end with this process whatever becomes of that.
 * Of the environment it gets all but the secrets of the bridge itself and what is withheld, where its own settings do not
 * name them.
 *
 * @param name by which the log tells what it writes to stderr.
 * @param prefix before each such line for people.
 */
export function boundedCommand(
  {
    withheld = [],
    ...command
  }: Pick<CommandTarget, 'command' | 'args' | 'env' | 'cwd'> & { withheld?: readonly string[] },
  name: string,
  prefix: string,
  { maxMemory, ownVariables, log: { format } }: BridgeSettings,
  log: CleanLog,
): CommandTarget {
  const pass = (line: string): void => {
    if (format === 'json') log.write('info', line, { server: name, from: 'stderr' });
    else process.stderr.write(`${prefix}${printableLine(log.scrub(line))}\n`);
  };
  const relay = new StderrRelay(pass, () => process.stderr.writableLength);
  const env = { ...unsetVariables([...ownVariables, ...withheld]), ...command.env };
  return { ...command, env, maxMemory, watchdog: true, onstderr: relay.line };
}

/** Who shares a connection to a server, how long connecting may take, and when an idle connection is closed. */
export function connectionsOf({
  connections,
  anonymous,
  connectTimeout,
  serverIdleTimeout: idleTimeout,
}: BridgeSettings): Pick<BridgeOptions, 'connections' | 'anonymous' | 'connectTimeout' | 'idleTimeout'> {
  return { connections, anonymous, connectTimeout, idleTimeout };
}

/**
 * Gets tokens for a server with a URL that wants them, as `everwire call` does, and shares them with it. Nothing where a
 * header of the settings has credentials.
 */
export async function authorizerFor(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { login, stdio }: BridgeSettings,
  log: CleanLog,
): Promise<Authorizer | undefined> {
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return undefined;
  const { bridgeLogin } = await import('./login.ts');
  // A host that starts the bridge for a person has no terminal, and a service has nobody to log in.
  const attended = stdio || (process.stderr.isTTY ?? false);
  const authorizer = bridgeLogin(
    url,
    {
      tell: (line) => log.write('warn', line),
      address: (line, address) => log.address('warn', line, address),
    },
    login && attended ? 'browser' : login ? 'nobody' : 'no-login',
  );
  return {
    get loginActiveUntil() {
      return authorizer.loginActiveUntil;
    },
    headers: async (request, signal) => {
      const given = await authorizer.headers(request, signal);
      // The server may repeat it in an error.
      log.hide(secretsIn(given['authorization'] ?? ''));
      return given;
    },
    refused: (request, reply, signal) => authorizer.refused(request, reply, signal),
  };
}
