import { Option, type Command } from 'commander';
import {
  NAMES_IN_CONFIG,
  repeatable,
  seconds,
  withRecordOption,
  withTargetOptions,
  type TargetFlags,
} from './options.ts';

/** The formats of a report. */
export const FORMATS = ['text', 'json', 'junit', 'sarif'] as const;

/** The options of `everwire check`. */
export interface CheckFlags extends TargetFlags {
  readonly format: (typeof FORMATS)[number];
  readonly out?: string;
  /** `tool=arguments` each: JSON, or the name of a file. */
  readonly call: readonly string[];
  /** JSON, `@file` or `-` for stdin. */
  readonly answers?: string;
  /** Directories that are offered to the server as roots. */
  readonly root: readonly string[];
  /** How long the server may take to answer, in milliseconds. */
  readonly timeout: number;
}

/** Adds the options of `everwire check`. */
export function withCheckOptions(command: Command): Command {
  command
    .usage('[options] <target>')
    .description('check a server or a recording against the specification')
    .argument('[words...]')
    .configureHelp({ visibleArguments: () => [] })
    .addOption(new Option('--format <format>', 'format of the report').choices(FORMATS).default('text'))
    .addOption(new Option('--out <file>', 'write the report to this file (default: stdout)'))
    .addOption(repeatable('--call <tool=args>', 'call this tool with arguments as JSON, or from a file'))
    .addOption(
      new Option(
        '--answers <json>',
        "answers to the server's questions as JSON, @file, or - for stdin (default: decline)",
      ),
    )
    .addOption(repeatable('--root <directory>', 'offer this directory to the server as a root'))
    .addOption(seconds('--timeout <seconds>', 'time limit for an answer of the server', 5));
  withTargetOptions(command, NAMES_IN_CONFIG);
  return withRecordOption(command).addHelpText(
    'after',
    `
A target is a URL, the name of a server in an mcp.json,
-- and a command at the end of the line, or a recording (.mcpcap)
that --record of other commands has written.

No tool is called unless --call names it.

Examples:
  everwire check https://example.com/mcp
  everwire check --call 'add={"a":1,"b":2}' -- node server.js
  everwire check session.mcpcap --format junit --out report.xml

Exit codes: 0 no errors, 1 errors, or the report could not be written,
2 wrong usage, or the file is not a recording, 3 cannot connect, 4 a login is
required or has failed, 5 timeout, 130 interrupted.`,
  );
}
