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
    .description('convert a recording to curl commands, HAR, tests or a page')
    .argument('<file>')
    .configureHelp({ visibleArguments: () => [] })
    .addOption(new Option('--as <form>', 'format of the export').choices(EXPORTS).makeOptionMandatory())
    .addOption(new Option('--out <file>', 'write the export to this file (default: stdout)'))
    .addHelpText(
      'after',
      `
Secrets are not exported. Scripts and tests read them from environment
variables.

Examples:
  everwire export session.mcpcap --as html --out session.html
  everwire export session.mcpcap --as curl | sh

Exit codes: 0 success, 1 the export could not be written, 2 wrong usage, or the
file is not a recording, 130 interrupted.`,
    );
}
