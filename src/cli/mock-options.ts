import type { Command } from 'commander';
import { withAddressOptions, withRecordOption, withSessionOptions, type ServeFlags } from './options.ts';

/** The options of `everwire mock`. */
export interface MockFlags extends ServeFlags {
  readonly fast?: boolean;
  readonly lenient?: boolean;
}

/** Adds the options of `everwire mock`. */
export function withMockOptions(command: Command): Command {
  command
    .usage('[options] <file>')
    .description('serve a recording: answer as the recorded server did')
    .argument('<file>')
    .configureHelp({ visibleArguments: () => [] })
    .option('--fast', 'send everything at once instead of at the recorded times')
    .option('--lenient', 'if a request is not in the recording, answer as for the nearest recorded one');
  withSessionOptions(withAddressOptions(command), 10_000, 'maximum number of sessions');
  return withRecordOption(command).addHelpText(
    'after',
    `
--record of other commands writes the recording (.mcpcap). The mock speaks the
recorded revision. A request that is not in the recording fails, and the mock
prints why on stderr.

Examples:
  everwire mock session.mcpcap
  everwire mock --stdio --fast session.mcpcap`,
  );
}
