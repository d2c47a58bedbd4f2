import { InvalidArgumentError, Option, type Command } from 'commander';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogThreshold } from '../operate/logs.ts';
import { path, port, positive, type ServeFlags } from './options.ts';

/** The options of `everwire bridge`, as they are written. */
export interface BridgeFlags extends ServeFlags {
  cors: string[];
  tlsCert?: string;
  tlsKey?: string;
  bearer: string[];
  apiKey: string[];
  issuer?: string;
  jwks?: string;
  audience?: string;
  resource?: string;
  allowUnauthenticated?: boolean;
  perSession?: boolean;
  shared?: boolean;
  pool?: number;
  config?: string;
  header: string[];
  handshakeTimeout: number;
  serverIdleTimeout?: number;
  maxMemory?: number;
  stateKey?: string;
  login: boolean;
  drainTimeout: number;
  health: boolean;
  metrics?: boolean;
  metricsAuth?: boolean;
  logLevel: LogThreshold;
  logFormat: LogFormat;
  /** Undefined where nothing was said of it. */
  logRequests?: boolean;
}

/** Seconds: what a timer can hold. */
const MAX_SECONDS = 2_000_000;

/** Adds the options of `everwire bridge`, each in its group of the help. */
export function withBridgeOptions(command: Command): Command {
  const seconds = (flags: string, description: string, value: number): Option =>
    new Option(flags, description).default(value).argParser(secondsIn);
  const each = (flags: string, description: string): Option =>
    new Option(flags, description).default([], 'none').argParser(collect);
  return command
    .optionsGroup('Where it is served:')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .addOption(new Option('--port <number>', 'port to listen on; 0 takes a free one').default(8000).argParser(port))
    .addOption(new Option('--path <path>', 'path of the Streamable HTTP endpoint').default('/mcp').argParser(path))
    .option('--stdio', 'serve one client over stdin and stdout instead of HTTP')
    .option('--tls-cert <file>', 'serve HTTPS with this certificate (PEM); taken up again when it changes')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--allow-host <host...>', 'accept this Host header, beside loopback', [])
    .addOption(each('--cors <origin>', 'let pages of this origin call, and read the answers; may be repeated'))
    .addOption(new Option('--allow-origin <origin...>', 'the same').default([]).hideHelp())

    .optionsGroup('Who is let in over HTTP (a secret may be @file, with one a line, or env:NAME):')
    .addOption(each('--bearer <token>', 'who shows this token in Authorization; may be repeated'))
    .addOption(each('--api-key <key>', 'who shows this key in X-API-Key or Authorization; may be repeated'))
    .option('--issuer <url>', 'who shows a token (JWT) of this authorization server')
    .option('--audience <text>', 'whom such tokens must be for')
    .option('--jwks <url>', 'where its keys are; default: where its metadata says')
    .option('--resource <url>', 'address of the endpoint as clients see it; default: the audience')
    .option('--allow-unauthenticated', 'listen beyond loopback and let anyone in')

    .optionsGroup('The server behind it:')
    .option('--config <file>', 'all servers of this mcp.json as one, and each at /servers/<name>/mcp')
    .option('--per-session', 'one connection, or process, for each client (the default)')
    .option('--shared', 'one for all clients')
    .addOption(new Option('--pool <number>', 'this many for all clients; each client keeps to one').argParser(positive))
    .addOption(
      each(
        '--header <header>',
        "'Name: value' to send to a server with a URL; ${env:NAME} is filled in; may be repeated",
      ),
    )
    .option('--no-login', 'do not open the browser where a server with a URL wants a login')
    .addOption(seconds('--handshake-timeout <seconds>', 'how long the server may take to start and answer', 60))
    .addOption(
      new Option(
        '--server-idle-timeout <seconds>',
        'end a server that got no request for this long, and start it again for the next; its state is lost (default: never)',
      ).argParser(secondsIn),
    )
    .addOption(
      new Option(
        '--max-memory <MiB>',
        'end a command that has more than this, with all it starts (default: no limit)',
      ).argParser(positive),
    )
    .option(
      '--state-key <secret>',
      'what seals questions to clients of 2026-07-28, so that they outlive this process (@file, with one line, or env:NAME)',
    )

    .optionsGroup('Bounds:')
    .addOption(new Option('--max-sessions <number>', 'refuse more sessions than this').default(100).argParser(positive))
    .addOption(seconds('--idle-timeout <seconds>', 'end a session after this long without a word', 1800))
    .addOption(seconds('--drain-timeout <seconds>', 'how long requests may go on when it is told to stop', 10))

    .optionsGroup('How it is watched:')
    .option('--no-health', 'serve no /healthz and /readyz')
    .option('--metrics', 'serve figures for Prometheus at /metrics, to anyone who is not kept out by Host')
    .option('--metrics-auth', 'the same, to those who are let in')
    .addOption(new Option('--log-level <level>', 'what is written to stderr').choices(LOG_LEVELS).default('info'))
    .addOption(new Option('--log-format <format>', 'lines for people, or JSON').choices(LOG_FORMATS).default('plain'))
    .option('--log-requests', 'a line for each request (the default with JSON)')
    .option('--no-log-requests', 'none')
    .optionsGroup('Others:');
}

function collect(text: string, earlier: string[]): string[] {
  return [...earlier, text];
}

function secondsIn(text: string): number {
  const value = positive(text);
  if (value > MAX_SECONDS) throw new InvalidArgumentError(`It must be at most ${MAX_SECONDS}.`);
  return value;
}
