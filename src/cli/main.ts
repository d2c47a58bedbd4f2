#!/usr/bin/env node
import { Argument, Command, CommanderError, Help } from 'commander';
import { VERSION } from '../version.ts';
import { withBridgeOptions, type BridgeFlags } from './bridge-options.ts';
import { addClientCommands, splitCommandLine } from './client-commands.ts';
import { withInspectOptions, type InspectFlags } from './inspect-options.ts';
import { ExitCode, reportFailure } from './failure.ts';
import { withAddressOptions, withRecordOption, withSessionOptions, type ServeFlags } from './options.ts';
import { isReaderGone } from './reader-gone.ts';
import { printStatus } from './print-status.ts';
import { run } from './run.ts';
import { stop, stopOnSignals, stopWithNpm } from './shutdown.ts';

/** The longest line of a help text, and the longest term that has its description on the same line. In columns. */
const HELP_WIDTH = 80;
const HELP_TERM = 18;

/** @param target the command that starts the server of a client command. */
function program(target: string[] | undefined): Command {
  const root = new Command('everwire')
    .description('The whole MCP wire: every revision, every transport.')
    .version(VERSION)
    .enablePositionalOptions()
    .configureHelp({
      subcommandTerm: (each) => `${each.name()} ${each.usage().replaceAll(/\[options\] ?/g, '')}`.trim(),
      padWidth: () => HELP_TERM,
      formatItem(term, width, description, helper) {
        const item = (first: string): string =>
          Help.prototype.formatItem.call(helper, first, width, description, helper);
        return term.length <= width ? item(term) : `  ${term}\n${item(' ')}`;
      },
    })
    .exitOverride()
    .configureOutput({
      outputError: (text) => printStatus(text.replace(/^error: /, '').trimEnd()),
      getOutHelpWidth: () => Math.min(HELP_WIDTH, process.stdout.columns ?? HELP_WIDTH),
    });

  const demoCommand = root
    .command('demo', { isDefault: true })
    .usage('[options]')
    .description('serve the example server (the default command)')
    .addArgument(new Argument('[command]').argParser(unknownCommand).default(undefined))
    .configureHelp({ visibleArguments: () => [] });
  withSessionOptions(withAddressOptions(demoCommand), 10_000, 'maximum number of sessions');
  withRecordOption(demoCommand).action(async (_command: unknown, flags: ServeFlags) =>
    run('demo', (await import('../../examples/demo.ts')).server, flags),
  );

  withBridgeOptions(
    root
      .command('bridge')
      .usage('[options] <url> | [options] -- <command> [args...]')
      .description('serve a local or remote MCP server over HTTP or stdio')
      .argument('[server...]')
      .configureHelp({ visibleArguments: () => [] })
      .passThroughOptions(),
  ).action(async (words: string[], flags: BridgeFlags) => (await import('./bridge.ts')).bridge(words, flags));

  withInspectOptions(root.command('inspect')).action(async (words: string[], flags: InspectFlags) =>
    (await import('./inspect.ts')).inspect({ words, command: target }, flags),
  );

  addClientCommands(root, target);
  return root;
}

/** The default command takes no argument, so a word there is an unknown command. */
function unknownCommand(word: string): never {
  const message = `there is no command ${JSON.stringify(word)}; see everwire --help`;
  printStatus(message);
  throw new CommanderError(ExitCode.Usage, 'everwire.unknownCommand', message);
}

process.stderr.on('error', () => {});
process.stdout.on('error', (error) => {
  if (isReaderGone(error)) return;
  process.once('exit', () => {
    if (process.exitCode) return;
    printStatus(`cannot write the output: ${error.message}`);
    process.exitCode = ExitCode.Refused;
  });
});

// Check this before starting anything that would need cleanup.
stopOnSignals();
stopWithNpm();

const { words, command } = splitCommandLine(process.argv.slice(2));

program(command)
  .parseAsync(words, { from: 'user' })
  .catch((error: unknown) => {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : ExitCode.Usage;
      return;
    }
    reportFailure(error);
    void stop();
  });
