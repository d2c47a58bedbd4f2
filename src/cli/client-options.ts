import { Option, type Command } from 'commander';
import { LOG_LEVELS, type LogLevel } from '../protocol/logging.ts';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';
import {
  NAMES_IN_CONFIG,
  repeatable,
  seconds,
  withRecordOption,
  withTargetOptions,
  type TargetFlags,
} from './options.ts';
import type { OutputFlags } from './output.ts';

/** The options of every command that calls a server. */
export interface ClientFlags extends OutputFlags, TargetFlags {
  readonly revision?: Revision;
  /** How long a request may go without a response or progress, in milliseconds. */
  readonly timeout: number;
  readonly logLevel: LogLevel;
  /** Directories that are offered to the server as roots. */
  readonly root: readonly string[];
  /** JSON, `@file` or `-` for stdin. */
  readonly answers?: string;
}

/** Adds the options of a command that calls a server. */
export function withClientOptions(command: Command): Command {
  command.option('--json', 'print the result as JSON, and nothing else, to stdout');
  withTargetOptions(command, NAMES_IN_CONFIG)
    .addOption(repeatable('--root <directory>', 'offer this directory to the server as a root'))
    .option(
      '--answers <json>',
      "answers to the server's questions as JSON, @file, or - for stdin; nobody is asked at the terminal",
    )
    .addOption(new Option('--revision <revision>', 'use only this protocol revision').choices(Object.keys(REVISIONS)))
    .addOption(seconds('--timeout <seconds>', 'time limit for a response; progress restarts it', 60))
    .addOption(
      new Option('--log-level <level>', 'show log messages of the server from this level up')
        .choices(LOG_LEVELS)
        .default('info'),
    );
  return withRecordOption(command);
}

/** Adds the option for the file that binary content is written to. */
export function withOutput(command: Command, what: string): Command {
  return command.addOption(new Option('--output <file>', `write ${what} to this file; - is stdout`).conflicts('json'));
}
