import { Option, type Command } from 'commander';

/** The formats of a report. */
export const FORMATS = ['text', 'json', 'junit', 'sarif'] as const;

/** The options of `everwire check`. */
export interface CheckFlags {
  readonly format: (typeof FORMATS)[number];
  readonly out?: string;
}

/** Adds the options of `everwire check`. */
export function withCheckOptions(command: Command): Command {
  return command
    .usage('[options] <recording>')
    .description('judge a recording by the rules of the specification')
    .argument('[words...]')
    .configureHelp({ visibleArguments: () => [] })
    .addOption(new Option('--format <format>', 'format of the report').choices(FORMATS).default('text'))
    .addOption(new Option('--out <file>', 'write the report to this file (default: stdout)'))
    .addHelpText(
      'after',
      `
A recording (.mcpcap) is what --record of other commands writes.

Examples:
  everwire list https://example.com/mcp --record session.mcpcap
  everwire check session.mcpcap
  everwire check session.mcpcap --format junit --out report.xml

Exit codes: 0 no errors, 1 errors, or the report could not be written,
2 wrong usage, or no recording.`,
    );
}
