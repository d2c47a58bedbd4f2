import { InvalidArgumentError, Option, type Command } from 'commander';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';
import { isIgnorable } from '../replay/ignored.ts';
import {
  NAMES_IN_CONFIG,
  repeatable,
  seconds,
  withRecordOption,
  withTargetOptions,
  type TargetFlags,
} from './options.ts';

/** The options of a report about differences. */
export interface ComparisonFlags {
  readonly format: 'text' | 'json';
  readonly out?: string;
  /** JSON Pointers, or methods of notifications. */
  readonly ignore: readonly string[];
}

/** The options of `everwire replay`. */
export interface ReplayFlags extends TargetFlags, ComparisonFlags {
  /** Names of tools, in which `*` matches any characters. */
  readonly call: readonly string[];
  readonly revision?: Revision;
  /** How long a request may go without an answer or progress, in milliseconds. */
  readonly timeout: number;
}

/** Adds the options of `everwire replay`. */
export function withReplayOptions(command: Command): Command {
  command
    .usage('[options] <target> <file>')
    .description('send the requests of a recording to a server, and show what differs')
    .argument('[words...]')
    .configureHelp({ visibleArguments: () => [] });
  withComparisonOptions(command)
    .addOption(repeatable('--call <tool>', 'call this tool too; * matches any characters'))
    .addOption(
      new Option('--revision <revision>', 'speak this protocol revision (default: that of the recording)').choices(
        Object.keys(REVISIONS),
      ),
    )
    .addOption(seconds('--timeout <seconds>', 'time limit for an answer; progress restarts it', 60));
  withTargetOptions(command, NAMES_IN_CONFIG);
  return withRecordOption(command).addHelpText(
    'after',
    `
A target is a URL, the name of a server in an mcp.json,
or -- and a command at the end of the line. --record of other commands writes
the recording (.mcpcap).

No tool is called unless the server marks it as read-only, or --call names it.

Examples:
  everwire replay https://example.com/mcp session.mcpcap
  everwire replay session.mcpcap --call add -- node server.js
  everwire replay session.mcpcap --call '*' --format json -- node server.js

${EXIT_CODES},
3 cannot connect, 4 a login is required or has failed, 5 timeout,
130 interrupted.`,
  );
}

/** Adds the options of `everwire compare`. */
export function withCompareOptions(command: Command): Command {
  command
    .usage('[options] <file> <file>')
    .description('show what differs between two recordings')
    .argument('<before>')
    .argument('<after>')
    .configureHelp({ visibleArguments: () => [] });
  return withComparisonOptions(command).addHelpText(
    'after',
    `
Examples:
  everwire compare before.mcpcap after.mcpcap
  everwire compare before.mcpcap after.mcpcap --ignore /structuredContent/time

${EXIT_CODES},
130 interrupted.`,
  );
}

const EXIT_CODES = `Exit codes: 0 no differences, 1 differences, or the report could not be
written, 2 wrong usage, or the file is not a recording`;

function withComparisonOptions(command: Command): Command {
  return command
    .addOption(new Option('--format <format>', 'format of the report').choices(['text', 'json']).default('text'))
    .addOption(new Option('--out <file>', 'write the report to this file (default: stdout)'))
    .addOption(
      repeatable(
        '--ignore <place>',
        'ignore the place at this JSON pointer (* stands for any name), or notifications of this method',
        place,
      ),
    );
}

function place(text: string): string {
  if (isIgnorable(text)) return text;
  throw new InvalidArgumentError(
    'It must be a JSON pointer such as /structuredContent/time, or the method of a notification.',
  );
}
