import { InvalidArgumentError, Option, type Command } from 'commander';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogThreshold } from '../operate/logs.ts';
import { inspectPortOption } from './inspect-options.ts';
import {
  positive,
  repeatable,
  seconds,
  withAddressOptions,
  withRecordOption,
  withSessionOptions,
  withStateKeyOption,
  withStoreOption,
  withTargetOptions,
  withWorkersOption,
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
  /** Patterns of tool names. */
  readonly allowTool: readonly string[];
  readonly denyTool: readonly string[];
  readonly shared?: boolean;
  readonly pool?: number;
  readonly handshakeTimeout: number;
  readonly serverIdleTimeout?: number;
  /** In bytes. */
  readonly maxMemory?: number;
  readonly drainTimeout: number;
  readonly health: boolean;
  readonly metrics?: boolean;
  readonly metricsAuth?: boolean;
  readonly logLevel: LogThreshold;
  readonly logFormat: LogFormat;
  readonly logRequests?: boolean;
  /** Whether to serve the page of the inspector. */
  readonly inspect?: boolean;
  readonly inspectPort: number;
}

const MEBIBYTE = 1024 * 1024;

/** Adds the options of `everwire bridge`, in their help groups. */
export function withBridgeOptions(command: Command): Command {
  withAddressOptions(command.optionsGroup('Listening:'))
    .option('--tls-cert <file>', 'serve HTTPS with this certificate (PEM); it is reloaded when the file changes')
    .option('--tls-key <file>', 'private key of the certificate (PEM)')

    .optionsGroup('Authentication over HTTP (a secret may be @file, one per line, or env:NAME):')
    .addOption(repeatable('--bearer <token>', 'accept this token in Authorization'))
    .addOption(repeatable('--api-key <key>', 'accept this key in X-API-Key or Authorization'))
    .option('--issuer <url>', 'accept access tokens (JWT) from this authorization server')
    .option('--audience <text>', 'audience that these tokens must have')
    .option('--jwks <url>', 'URL of the keys that verify these tokens (default: from the metadata of the issuer)')
    .option('--resource <url>', 'URL of this endpoint as clients see it (default: the audience)')
    .option('--allow-unauthenticated', 'let anyone call, even from other machines');

  withTargetOptions(
    command.optionsGroup('The server:'),
    'serve all servers of this mcp.json as one, and each at /servers/<name>/mcp',
  )
    .addOption(
      repeatable('--allow-tool <pattern>', 'show only the tools whose names match; * matches any characters', pattern),
    )
    .addOption(
      repeatable('--deny-tool <pattern>', 'hide the tools whose names match, even if they are allowed', pattern),
    )
    .option('--per-session', 'one connection or process for each client (the default)')
    .addOption(new Option('--shared', 'one connection or process for all clients').conflicts(['perSession', 'pool']))
    .addOption(
      new Option(
        '--pool <number>',
        'this many connections or processes for all clients; each client always uses the same one',
      )
        .conflicts('perSession')
        .argParser(positive),
    )
    .addOption(seconds('--handshake-timeout <seconds>', 'time limit for the server to start and respond', 60))
    .addOption(
      seconds(
        '--server-idle-timeout <seconds>',
        'stop the server after this long without a request; the next request starts it again, without its state (default: never)',
      ),
    )
    .addOption(
      new Option(
        '--max-memory <MiB>',
        'stop a command if it and its child processes use more memory than this (default: no limit)',
      ).argParser((text) => positive(text) * MEBIBYTE),
    );
  withWorkersOption(withStoreOption(withStateKeyOption(command)));

  const most = 'maximum number of sessions, and of connections for clients without a session';
  const limited = withSessionOptions(command.optionsGroup('Limits:'), 100, most)
    .addOption(seconds('--drain-timeout <seconds>', 'time for running requests to finish at shutdown', 10))

    .optionsGroup('Monitoring and logs:')
    .option('--no-health', 'do not serve /healthz and /readyz')
    .option('--metrics', 'serve Prometheus metrics at /metrics, without authentication (needs prom-client)')
    .option('--metrics-auth', 'serve Prometheus metrics at /metrics, with authentication (needs prom-client)')
    .addOption(
      new Option('--log-level <level>', 'lowest level of log lines on stderr').choices(LOG_LEVELS).default('info'),
    )
    .addOption(
      new Option('--log-format <format>', 'format of log lines: plain is for people, json for programs')
        .choices(LOG_FORMATS)
        .default('plain'),
    )
    .option('--log-requests', 'log each request (the default with json)')
    .option('--no-log-requests', 'do not log each request')
    .option('--inspect', 'serve a page on 127.0.0.1 that shows every byte on both sides')
    .addOption(inspectPortOption());
  return withRecordOption(limited).addHelpText('after', EXAMPLES);
}

function pattern(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
}

const EXAMPLES = `
Examples:
  everwire bridge -- npx -y @modelcontextprotocol/server-everything
  everwire bridge https://example.com/mcp --stdio
  everwire bridge https://example.com/mcp --header 'X-Key: \${env:KEY}'
  everwire bridge --deny-tool 'delete_*' -- node server.js
  everwire bridge --config mcp.json --bearer env:TOKEN --host 0.0.0.0`;
