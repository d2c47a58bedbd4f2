import { InvalidArgumentError, Option, type Command } from 'commander';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogThreshold } from '../operate/logs.ts';
import {
  positive,
  repeatable,
  seconds,
  withAddressOptions,
  withSessionOptions,
  withTargetOptions,
  type ServeFlags,
  type TargetFlags,
} from './options.ts';

/** The options of `everwire bridge`. Times are in milliseconds. */
export interface BridgeFlags extends ServeFlags, TargetFlags {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly bearer: readonly string[];
  readonly apiKey: readonly string[];
  readonly issuer?: string;
  readonly jwks?: string;
  readonly audience?: string;
  readonly resource?: string;
  readonly allowUnauthenticated?: boolean;
  readonly perSession?: boolean;
  readonly shared?: boolean;
  readonly pool?: number;
  readonly handshakeTimeout: number;
  readonly serverIdleTimeout?: number;
  /** In bytes. */
  readonly maxMemory?: number;
  readonly stateKey?: string;
  readonly drainTimeout: number;
  readonly health: boolean;
  readonly metrics?: boolean;
  readonly metricsAuth?: boolean;
  readonly logLevel: LogThreshold;
  readonly logFormat: LogFormat;
  readonly logRequests?: boolean;
}

const MEBIBYTE = 1024 * 1024;

/** Adds the options of `everwire bridge`, in their help groups. */
export function withBridgeOptions(command: Command): Command {
  withAddressOptions(command.optionsGroup('Where it is served:'))
    .addOption(new Option('--cors <origin>').hideHelp().argParser(renamed('--allow-origin')))
    .option('--tls-cert <file>', 'serve HTTPS with this certificate (PEM), which is read again when it changes')
    .option('--tls-key <file>', 'its key (PEM)')

    .optionsGroup('Who may call over HTTP (a secret may be @file, with one a line, or env:NAME):')
    .addOption(repeatable('--bearer <token>', 'callers with this token in Authorization'))
    .addOption(repeatable('--api-key <key>', 'callers with this key in X-API-Key or Authorization'))
    .option('--issuer <url>', 'callers with a token (JWT) of this authorization server')
    .option('--audience <text>', 'the audience that such tokens must have')
    .option('--jwks <url>', 'where the keys of the authorization server are (default: where its metadata says)')
    .option('--resource <url>', 'the address of the endpoint as clients see it (default: the audience)')
    .option('--allow-unauthenticated', 'listen beyond loopback and let anyone call');

  withTargetOptions(
    command.optionsGroup('The server behind it:'),
    'serve all servers of this mcp.json as one, and each at /servers/<name>/mcp',
  )
    .option('--per-session', 'one connection, or process, for each client (the default)')
    .option('--shared', 'one for all clients')
    .addOption(new Option('--pool <number>', 'this many for all clients; each client keeps to one').argParser(positive))
    .addOption(seconds('--handshake-timeout <seconds>', 'how long the server may take to start and answer', 60))
    .addOption(
      seconds(
        '--server-idle-timeout <seconds>',
        'end a server that got no request for this long, and start it again for the next; its state is lost (default: never)',
      ),
    )
    .addOption(
      new Option(
        '--max-memory <MiB>',
        'end a command that has more than this, with all it starts (default: no limit)',
      ).argParser((text) => positive(text) * MEBIBYTE),
    )
    .option(
      '--state-key <secret>',
      'what seals questions to clients of 2026-07-28, so that they outlive this process (@file, with one line, or env:NAME)',
    );

  return withSessionOptions(command.optionsGroup('Limits:'), 100)
    .addOption(seconds('--drain-timeout <seconds>', 'how long requests may go on when it is told to stop', 10))

    .optionsGroup('How it is watched:')
    .option('--no-health', 'serve no /healthz and /readyz')
    .option('--metrics', 'serve metrics for Prometheus at /metrics, to anyone who is not kept out by Host')
    .option('--metrics-auth', 'the same, to those who may call')
    .addOption(
      new Option('--log-level <level>', 'the least severe lines on stderr').choices(LOG_LEVELS).default('info'),
    )
    .addOption(new Option('--log-format <format>', 'lines for people, or JSON').choices(LOG_FORMATS).default('plain'))
    .option('--log-requests', 'a line for each request (the default with JSON)')
    .option('--no-log-requests', 'none')
    .optionsGroup('Others:');
}

/** Refuses an option that was renamed. */
function renamed(name: string): () => never {
  return () => {
    throw new InvalidArgumentError(`Use ${name} instead.`);
  };
}
