import type { Command } from 'commander';
import type { UrlServer } from '../bridge/config/config.ts';
import { Failure } from './failure.ts';
import { NAMES_IN_CONFIG, withRegisteredClient, withServerOptions, type LoginFlags } from './options.ts';
import { takeTarget, type SplitWords } from './take-target.ts';
import { hasCredentials } from './target.ts';

/** Adds the commands that log in and out. @param server the words after `--`. */
export function addLoginCommands(root: Command, server: string[] | undefined): void {
  const login = root
    .command('login')
    .description('log in to a server, for the other commands and for bridges')
    .option('--no-open', 'do not open a browser, only print the URL');
  withServerOptions(login, NAMES_IN_CONFIG);
  const logout = root.command('logout').description('delete and revoke the tokens of a login');
  withRegisteredClient(logout.option('--config <file>', NAMES_IN_CONFIG));
  for (const command of [login, logout]) {
    command
      .usage('[options] <target>')
      .argument('[words...]')
      .configureHelp({ visibleArguments: () => [] })
      .addHelpText('after', help(command.name()));
  }
  login.action(async (words: string[], flags: LoginFlags) => {
    const target = serverIn({ words, command: server }, flags, 'login');
    await (await import('./log-in.ts')).logIn(target, flags);
  });
  logout.action(async (words: string[], flags: Pick<LoginFlags, 'clientId' | 'clientSecret' | 'config'>) => {
    const target = serverIn({ words, command: server }, { header: [], scope: [], ...flags }, 'logout');
    await (await import('./log-out.ts')).logOut(target);
  });
}

/** The server of a command. @throws Failure with code 2 if it is not one that a user can log in to. */
export function serverIn(words: SplitWords, flags: Omit<LoginFlags, 'open'>, command: string): UrlServer {
  const { target, rest } = takeTarget(words, flags);
  if (rest[0] !== undefined) {
    throw Failure.usage(`${command} takes only a target, and not ${JSON.stringify(rest[0])}`);
  }
  if (target.kind === 'command') throw Failure.usage('only a server at a URL has a login, and this one is a command');
  if (hasCredentials(target)) {
    throw Failure.usage('this server gets an Authorization header, so no login is used for it');
  }
  return target;
}

function help(name: string): string {
  return `
A target is a URL, or the name of a server in an mcp.json.

Examples:
  everwire ${name} https://example.com/mcp
  everwire ${name} notes --config mcp.json`;
}
