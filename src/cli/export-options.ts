import { Option, type Command } from 'commander';

/** The forms that a recording can be exported to. */
const EXPORTS = ['curl', 'har', 'vitest', 'html'] as const;

/** The options of `everwire export`. */
export interface ExportFlags {
  readonly as: (typeof EXPORTS)[number];
  readonly out?: string;
}

/** Adds the options of `everwire export`. */
export function withExportOptions(command: Command): Command {
  return command
    .usage('[options] <file>')
    .description('write a recording as curl commands, HAR, tests or a page')
    .argument('<file>')
    .configureHelp({ visibleArguments: () => [] })
    .addOption(new Option('--as <form>', 'what to write').choices(EXPORTS).makeOptionMandatory())
    .addOption(new Option('--out <file>', 'write it to this file (default: stdout)'))
    .addHelpText(
      'after',
      `
Secrets are masked, or variables of the environment.

Examples:
  everwire export session.mcpcap --as html --out session.html
  everwire export session.mcpcap --as curl | sh

Exit codes: 0 success, 1 it could not be written, 2 wrong usage,
or no recording.`,
    );
}
