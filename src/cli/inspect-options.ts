import { Option, type Command } from 'commander';
import { port, withRecordOption, withTargetOptions, type TargetFlags } from './options.ts';

/** The options of `everwire inspect`. */
export interface InspectFlags extends TargetFlags {
  /** Undefined if the user gave none. */
  readonly port?: number;
  readonly open: boolean;
  /** The file of saved calls. Undefined if the user gave none. */
  readonly saved?: string;
  /** Whether to run between a host and its server. */
  readonly through?: boolean;
  /** Whether to print the messages of a recording instead of opening a page. */
  readonly print?: boolean;
  /** Which messages are printed. */
  readonly filter?: string;
}

/** The default port of the inspector. */
export const INSPECTOR_PORT = 6274;

/** The default file of saved calls. */
export const SAVED_FILE = '.everwire/saved.json';

/** The port of the page that other commands serve with `--inspect`. */
export function inspectPortOption(): Option {
  const option = new Option('--inspect-port <number>', 'port of this page; 0 picks a free one');
  return option.default(INSPECTOR_PORT).argParser(port);
}

/** Adds the options of `everwire inspect`. */
export function withInspectOptions(command: Command): Command {
  command
    .usage('[options] [target]')
    .description('open a page that connects to a server and shows every byte on the wire')
    .argument('[words...]')
    .configureHelp({ visibleArguments: () => [] })
    .addOption(
      new Option(
        '--port <number>',
        `port of the page; 0 picks a free one (default: ${INSPECTOR_PORT}; with --through, 0)`,
      ).argParser(port),
    )
    .option('--no-open', 'do not open a browser')
    .option('--saved <file>', `the file of saved calls (default: ${SAVED_FILE})`)
    .addOption(
      new Option('--through', 'start the command as a host would, and pass on every byte, signal and exit code'),
    )
    .option('--print', 'print the messages of a recording, one on each line, and open no page')
    .option('--filter <filter>', 'print only these messages, for example "tool:add dur>500ms"');
  withTargetOptions(
    command,
    'take servers from this file (default: ./mcp.json and .mcp.json, then the files of other MCP hosts)',
  );
  return withRecordOption(command).addHelpText(
    'after',
    `
A target is a URL, the name of a server in an mcp.json,
a recording (.mcpcap), or -- and a command at the end of the line.
Without a target, the page lists the servers in the configuration files.

Examples:
  everwire inspect https://example.com/mcp
  everwire inspect -- node server.js
  everwire inspect --through -- node server.js
  everwire inspect session.mcpcap --print --filter kind:error`,
  );
}
