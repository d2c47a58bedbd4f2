import { Option, type Command } from 'commander';
import { AUTHORIZED_REVISIONS, STEPS, type AuthorizedRevision, type StepId } from '../auth/steps/step.ts';
import { documentUrl, headerOption, NAMES_IN_CONFIG, withLoginOptions, type LoginFlags } from './options.ts';

/** The options of `everwire auth`. */
export interface AuthFlags extends LoginFlags {
  readonly revision: AuthorizedRevision;
  readonly clientMetadataUrl?: string;
  /** `tool=arguments`: JSON, or the name of a file. */
  readonly call?: string;
  readonly until?: StepId;
  /** Whether to wait before each step. */
  readonly step?: boolean;
  /** Whether to go on where the client would stop. */
  readonly keepGoing?: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
}

/** Adds the options of `everwire auth`. */
export function withAuthOptions(command: Command): Command {
  command
    .usage('[options] <target>')
    .description('go through the authorization of a server step by step, and check each step')
    .argument('[words...]')
    .configureHelp({ visibleArguments: () => [] })
    .addOption(
      new Option('--revision <revision>', 'check by the rules of this revision')
        .choices(AUTHORIZED_REVISIONS)
        .default(AUTHORIZED_REVISIONS.at(-1)),
    )
    .addOption(new Option('--until <step>', 'end after this step').choices(STEPS))
    .addOption(new Option('--step', 'wait for Enter before each step').conflicts('json'))
    .option('--keep-going', 'continue where a client must stop, as far as possible')
    .option('--verbose', 'print each request and each response, with secrets masked')
    .option('--json', 'print the steps as JSON, and nothing else, to stdout')
    .option('--no-open', 'do not open a browser, only print the URL')
    .option('--call <tool=args>', 'call this tool, with arguments as JSON or from a file, to try a step-up')
    .addOption(
      new Option('--client-metadata-url <url>', 'the URL of a Client ID Metadata Document').argParser(documentUrl),
    )
    .option('--config <file>', NAMES_IN_CONFIG)
    .addOption(headerOption());
  return withLoginOptions(command).addHelpText(
    'after',
    `
A target is a URL, or the name of a server in an mcp.json. No stored
token is used, and none is stored. Tokens are revoked at the end.

Steps: ${STEPS.slice(0, 5).join(', ')},
${STEPS.slice(5, 10).join(', ')},
${STEPS.slice(10).join(', ')}.

Examples:
  everwire auth https://example.com/mcp
  everwire auth --until registration https://example.com/mcp
  everwire auth --step --call 'write={}' https://example.com/mcp

Exit codes: 0 no check failed, 1 a check failed, or a client must stop at a
step, 2 wrong usage, 3 cannot connect, 130 interrupted.`,
  );
}
