#!/usr/bin/env node
import { Command, CommanderError, Help } from 'commander';
import { fileProblem } from '../base/file-problem.ts';
import { VERSION } from '../version.ts';
import { withAuthOptions, type AuthFlags } from './auth-options.ts';
import { withBridgeOptions, type BridgeFlags } from './bridge-options.ts';
import { withCheckOptions, type CheckFlags } from './check-options.ts';
import { addClientCommands, splitCommandLine } from './client-commands.ts';
import { withDevOptions, type DevFlags } from './dev-options.ts';
import { addCompletionCommand } from './completion-command.ts';
import { withExportOptions, type ExportFlags } from './export-options.ts';
import { addInstallCommands } from './install-commands.ts';
import { withInspectOptions, type InspectFlags } from './inspect-options.ts';
import { keepInputs } from './keep-input.ts';
import { withMockOptions, type MockFlags } from './mock-options.ts';
import { withCompareOptions, withReplayOptions, type ComparisonFlags, type ReplayFlags } from './replay-options.ts';
import { addLoginCommands } from './login-commands.ts';
import { ExitCode, reportFailure } from './failure.ts';
import {
  withAddressOptions,
  withRecordOption,
  withSessionOptions,
  withStateKeyOption,
  withStoreOption,
  withWorkersOption,
  type ServeFlags,
} from './options.ts';
import { isReaderGone } from './reader-gone.ts';
import { printStatus } from './print-status.ts';
import { run } from './run.ts';
import { isStopping, stop, stopOnSignals, stopWithNpm } from './shutdown.ts';

/** The longest line of a help text, and the longest term that has its description on the same line. In columns. */
const HELP_WIDTH = 80;
const HELP_TERM = 18;

/**
 * @param target the command that starts the server of a client command.
 * @param bridgesUrl whether the bridge's server is a URL. Then options may follow it; those after a command are its own.
 */
function program(target: string[] | undefined, bridgesUrl = false): Command {
  const root = new Command('everwire')
    .description('Serve, call, inspect and install MCP servers of every revision.')
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
    })
    .hook('preAction', (_root, running) => keepInputs(running.opts()));

  const demoCommand = root
    .command('demo')
    .usage('[options]')
    .description('serve a demo server with a tool, a resource and a prompt');
  withSessionOptions(withAddressOptions(demoCommand), 10_000, 'maximum number of sessions');
  withWorkersOption(withStoreOption(withStateKeyOption(demoCommand)));
  withRecordOption(demoCommand)
    .addHelpText('after', '\nExamples:\n  everwire demo\n  everwire demo --stdio')
    .action(async (flags: ServeFlags) => run('demo', (await import('../../examples/demo.ts')).server, flags));

  withDevOptions(root.command('dev')).action(async (file: string, flags: DevFlags) =>
    (await import('./dev.ts')).dev(file, flags),
  );

  withBridgeOptions(
    root
      .command('bridge')
      .usage('[options] <url> | [options] -- <command> [args...]')
      .description('serve a local or remote MCP server over HTTP or stdio')
      .argument('[server...]')
      .configureHelp({ visibleArguments: () => [] })
      .passThroughOptions(!bridgesUrl),
  ).action(async (given: string[], flags: BridgeFlags) => {
    const { bridge, hasMoreOptions } = await import('./bridge.ts');
    if (!bridgesUrl && hasMoreOptions(given)) await program(target, true).parseAsync(words, { from: 'user' });
    else await bridge(given, flags);
  });

  withInspectOptions(root.command('inspect')).action(async (words: string[], flags: InspectFlags) =>
    (await import('./inspect.ts')).inspect({ words, command: target }, flags),
  );

  withCheckOptions(root.command('check')).action(async (words: string[], flags: CheckFlags) =>
    (await import('./check.ts')).check({ words, command: target }, flags),
  );

  withAuthOptions(root.command('auth')).action(async (words: string[], flags: AuthFlags) =>
    (await import('./auth.ts')).auth({ words, command: target }, flags),
  );

  withMockOptions(root.command('mock')).action(async (file: string, flags: MockFlags) =>
    (await import('./mock.ts')).mock(file, flags),
  );

  withReplayOptions(root.command('replay')).action(async (words: string[], flags: ReplayFlags) =>
    (await import('./replay.ts')).replay({ words, command: target }, flags),
  );

  withCompareOptions(root.command('compare')).action(async (before: string, after: string, flags: ComparisonFlags) =>
    (await import('./compare.ts')).compare(before, after, flags),
  );

  withExportOptions(root.command('export')).action(async (file: string, flags: ExportFlags) =>
    (await import('./export.ts')).exportRecording(file, flags),
  );

  addClientCommands(root, target);
  addLoginCommands(root, target);
  addInstallCommands(root, target);
  addCompletionCommand(root, target);
  return root;
}

process.stderr.on('error', () => {});
process.stdout.on('error', (error) => {
  if (isReaderGone(error)) return;
  process.once('exit', () => {
    if (process.exitCode) return;
    printStatus(`cannot write the output: ${fileProblem(error)}`);
    process.exitCode = ExitCode.Refused;
  });
});

// Check this before starting anything that would need cleanup.
stopOnSignals();
stopWithNpm();

const { words, command } = splitCommandLine(process.argv.slice(2));

const parsed = program(command);
// Without a command, the help is the result and no error.
const done = words.length === 0 ? parsed.outputHelp() : parsed.parseAsync(words, { from: 'user' });
Promise.resolve(done).catch((error: unknown) => {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : ExitCode.Usage;
    return;
  }
  // A command that a signal ends during its start did not fail.
  if (isStopping()) return;
  reportFailure(error);
  void stop();
});
