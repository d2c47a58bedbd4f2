import { Option, type Command } from 'commander';
import { HOSTS } from './hosts.ts';
import type { ChangeFlags, InstallFlags } from './install/install.ts';
import { repeatable } from './options.ts';

/** Adds the commands that change the configuration of MCP hosts. @param command the words after `--`. */
export function addInstallCommands(root: Command, command: string[] | undefined): void {
  const installing = withoutArguments(root.command('install'))
    .usage('[options] <host> <url> | [options] <host> -- <command> [args...]')
    .description('add a server to the configuration of an MCP host, such as Claude or Cursor')
    .option('--name <name>', 'name of the server in the host (default: from its URL or command)')
    .addOption(
      repeatable(
        '--header <header>',
        "'Name: value' header that the host sends; ${env:NAME} is a variable of the host",
      ),
    )
    .addOption(repeatable('--env <variable>', 'NAME=value variable for the command'))
    .option('--bridge', 'let the host start a bridge to the URL (the default if the host cannot connect to a URL)')
    .option('--replace', 'replace a server of the same name');
  withChangeOptions(installing)
    .addHelpText('after', help(['cursor https://example.com/mcp', 'claude --name files -- npx -y some-server /path']))
    .action(async (words: string[], flags: InstallFlags) =>
      (await import('./install/install.ts')).install({ words, command }, flags),
    );

  const removing = withoutArguments(root.command('uninstall'))
    .usage('[options] <host> <name>')
    .description('remove a server from the configuration of an MCP host');
  withChangeOptions(removing)
    .addHelpText('after', help(['cursor example'], 'uninstall'))
    .action(async (words: string[], flags: ChangeFlags) =>
      (await import('./install/install.ts')).uninstall(words, flags),
    );
}

function withoutArguments(command: Command): Command {
  return command.argument('[words...]').configureHelp({ visibleArguments: () => [] });
}

function withChangeOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--project', 'change the file of the project in the current directory, not your own').conflicts(
        'file',
      ),
    )
    .option('--file <file>', 'change this file')
    .addOption(new Option('--dry-run', 'only show the difference').conflicts('yes'))
    .option('--yes', 'do not ask before the file is changed');
}

function help(examples: readonly string[], name = 'install'): string {
  const hosts = HOSTS.map((host) => `  ${host.name.padEnd(14)}${host.title}`);
  const lines = examples.map((example) => `  everwire ${name} ${example}`);
  return `
Hosts:
${hosts.join('\n')}

Examples:
${lines.join('\n')}`;
}
