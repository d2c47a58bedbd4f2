import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ListenOptions } from '../transport/http/listen.ts';

/** The options of every command that serves. */
export interface ServeFlags {
  host: string;
  port: number;
  path: string;
  stdio?: boolean;
  allowHost: string[];
  allowOrigin: string[];
  maxSessions: number;
  idleTimeout: number;
}

/** Adds the options of a command that serves. */
export function withServeOptions(command: Command, maxSessions: number): Command {
  return command
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .addOption(new Option('--port <number>', 'port to listen on; 0 takes a free one').default(8000).argParser(port))
    .addOption(new Option('--path <path>', 'path of the Streamable HTTP endpoint').default('/mcp').argParser(path))
    .option('--stdio', 'serve one client over stdin and stdout instead of HTTP')
    .option('--allow-host <host...>', 'accept this Host header, beside loopback', [])
    .option(
      '--allow-origin <origin...>',
      'accept this Origin, beside loopback, and let its pages read the answers (CORS)',
      [],
    )
    .addOption(
      new Option('--max-sessions <number>', 'refuse more sessions than this').default(maxSessions).argParser(positive),
    )
    .addOption(
      new Option('--idle-timeout <seconds>', 'end a session after this long without a word')
        .default(1800)
        .argParser(positive),
    );
}

export function listenOptions(flags: ServeFlags): Omit<ListenOptions, 'onsession'> {
  return {
    host: flags.host,
    port: flags.port,
    path: flags.path,
    allowedHosts: flags.allowHost,
    allowedOrigins: flags.allowOrigin,
    maxSessions: flags.maxSessions,
    idleTimeout: flags.idleTimeout * 1000,
  };
}

export function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return value;
}

export function path(text: string): string {
  if (!/^\/[\w\-./~%]*$/.test(text)) throw new InvalidArgumentError('It must begin with a slash and hold no query.');
  if (text === '/sse' || text === '/messages') throw new InvalidArgumentError('The HTTP+SSE transport lives there.');
  return text;
}

export function positive(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a positive whole number.');
  return Number(text);
}
