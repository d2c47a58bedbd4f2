import type { Command } from 'commander';
import { inspectPortOption } from './inspect-options.ts';
import { repeatable, withAddressOptions, withRecordOption, withSessionOptions, type ServeFlags } from './options.ts';

/** The options of `everwire dev`. */
export interface DevFlags extends ServeFlags {
  /** Modules that Node loads before the file. */
  readonly import: readonly string[];
  readonly inspect?: boolean;
  readonly inspectPort: number;
}

/** Adds the options of `everwire dev`. */
export function withDevOptions(command: Command): Command {
  command
    .usage('[options] <file>')
    .description('serve the McpServer that a file exports, and reload it when the file changes')
    .argument('<file>')
    .configureHelp({ visibleArguments: () => [] })
    .addOption(repeatable('--import <module>', 'let Node load this module before the file, as node --import does'));
  withSessionOptions(withAddressOptions(command), 10_000, 'maximum number of sessions')
    .option('--inspect', 'serve a page on 127.0.0.1 that shows every byte on the wire')
    .addOption(inspectPortOption());
  return withRecordOption(command).addHelpText(
    'after',
    `
The file exports an McpServer as default or as \`server\`. Clients stay
connected when it is reloaded.

Examples:
  everwire dev server.ts
  everwire dev --stdio server.ts
  everwire dev --import tsx server.ts`,
  );
}
