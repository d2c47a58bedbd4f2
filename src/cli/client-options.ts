import { InvalidArgumentError, Option, type Command } from 'commander';
import { LOG_LEVELS, type LogLevel } from '../protocol/logging.ts';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';
import { positive } from './options.ts';
import type { OutputFlags } from './output.ts';
import type { TargetFlags } from './take-target.ts';

/** The options of every command that talks to a server. */
export interface ClientFlags extends OutputFlags, TargetFlags {
  readonly revision?: Revision;
  /** Seconds without an answer or progress. */
  readonly timeout: number;
  readonly logLevel: LogLevel;
  /** Directories that the server is told it may work in. */
  readonly root: readonly string[];
  /** Whether the browser may be opened where the server wants a login. */
  readonly login: boolean;
}

/** Adds the options of a command that talks to a server. */
export function withClientOptions(command: Command): Command {
  return command
    .option('--json', 'print the result as JSON, and nothing else on stdout')
    .addOption(
      new Option('--header <name=value>', 'send this header to a URL; ${env:NAME} stands for a variable; repeatable')
        .default([], 'none')
        .argParser(collected),
    )
    .addOption(
      new Option('--root <directory>', 'tell the server that it may work in this directory; repeatable')
        .default([], 'none')
        .argParser(collected),
    )
    .addOption(new Option('--revision <revision>', 'speak this revision only').choices(Object.keys(REVISIONS)))
    .addOption(
      new Option('--timeout <seconds>', 'wait this long for an answer or a sign of progress')
        .default(60)
        .argParser(seconds),
    )
    .addOption(
      new Option('--log-level <level>', 'show log messages of the server from this level on')
        .choices(LOG_LEVELS)
        .default('info'),
    )
    .option('--config <file>', 'look up names of servers in this file. Default: ./mcp.json, then the files of hosts')
    .option('--no-login', 'do not open the browser where the server wants a login');
}

function collected(word: string, before: readonly string[]): string[] {
  return [...before, word];
}

/** Adds the option for where what is no text goes. */
export function withOutput(command: Command, what: string): Command {
  return command.addOption(new Option('--output <file>', `write ${what} to this file; - is stdout`).conflicts('json'));
}

/** Milliseconds do well for scripts; a day is more than any timer of a server waits. */
function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value <= 0 || value > 86_400) {
    throw new InvalidArgumentError('It must be a number of seconds, up to 86400.');
  }
  return value;
}

/** How many of something are wanted. */
export const count = positive;
