/** `everwire install` and `everwire uninstall`: add a server to the configuration file of a host, and remove it. */
import path from 'node:path';
import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { fileProblem } from '../../base/file-problem.ts';
import { suggestion } from '../../base/nearest.ts';
import { readTextFile, replaceFile, type TextFile } from '../../base/replace-file.ts';
import { MAX_CONFIG_FILE, urlProblem, type CommandServer } from '../../bridge/config/server.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { withoutSecrets } from '../choices.ts';
import { ExitCode, Failure } from '../failure.ts';
import { HOSTS, type Host } from '../hosts.ts';
import { Output } from '../output.ts';
import { printStatus } from '../print-status.ts';
import { agrees } from '../prompter.ts';
import { secretsOf } from '../secrets.ts';
import { serverName } from '../server-name.ts';
import { atEnd } from '../shutdown.ts';
import { surroundings, type Surroundings } from '../surroundings.ts';
import type { SplitWords } from '../take-target.ts';
import { commandTarget, isUrl, type Target } from '../target.ts';
import { Terminal } from '../terminal.ts';
import { bridgeConfigIn, problemsOfBridge } from './bridge-config.ts';
import { entryFor, type HostEntry } from './entry.ts';
import { hideSecrets, withoutNamedSecret } from './hide-secrets.ts';
import { FormatError, type ServerText } from './server-text.ts';
import { unifiedDiff } from './unified-diff.ts';

/** The options of both commands. */
export interface ChangeFlags {
  /** Whether to change the file of the project. */
  readonly project?: boolean;
  /** Another file. */
  readonly file?: string;
  readonly dryRun?: boolean;
  /** Whether to write without a question. */
  readonly yes?: boolean;
}

/** The options of `everwire install`. */
export interface InstallFlags extends ChangeFlags {
  readonly name?: string;
  readonly header: readonly string[];
  readonly env: readonly string[];
  readonly bridge?: boolean;
  readonly replace?: boolean;
}

/** Hosts accept at least these names. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const BYTE_ORDER_MARK = '\ufeff';

export async function install({ words, command }: SplitWords, flags: InstallFlags): Promise<void> {
  const where = surroundings();
  const host = hostIn(words[0]);
  const target = targetIn(words.slice(1), command);
  const name = nameFor(target, flags.name, where.cwd);
  const opened = await open(host, flags, where);
  const made = entryFor(host, {
    ...(target.kind === 'url' ? { url: target.url } : { command: [target.command, ...target.args] }),
    header: flags.header,
    env: flags.env,
    bridge: flags.bridge ?? false,
    // Other people may read the file of a project on other platforms.
    onWindows: where.platform === 'win32' && !flags.project,
  });
  const { servers } = opened.content;
  const existing = Object.hasOwn(servers, name) ? servers[name] : undefined;
  const output = new Output({});
  if (isDeepStrictEqual(existing, made.entry)) {
    return output.text(`${host.title} already has this server as ${JSON.stringify(name)}, in ${opened.read.file}.`);
  }
  if (existing !== undefined && !flags.replace) {
    throw Failure.usage(
      `${host.title} already has a server ${JSON.stringify(name)}: choose another --name, or add --replace`,
    );
  }
  if (target.kind === 'command') warnOfCommand(target, host, flags, where);
  hideSecrets({ ...servers, [`new ${name}`]: made.entry }, secretsOf(target));
  const shown = target.kind === 'command' ? withoutSecretArguments(made) : made.shown;
  const changed = await change(
    opened,
    (content) => content.with(name, made.entry),
    (content) => content.with(name, shown),
    flags,
    output,
  );
  if (!changed) return;
  const verb = existing === undefined ? 'Added' : 'Replaced';
  await output.text(`${verb} ${JSON.stringify(name)} in ${host.title}: ${opened.read.file}`);
}

export async function uninstall(words: readonly string[], flags: ChangeFlags): Promise<void> {
  const host = hostIn(words[0]);
  const [, name, ...others] = words;
  if (name === undefined) throw Failure.usage('the name of the server is missing');
  if (others.length > 0) throw Failure.usage(`uninstall takes a host and a name: remove ${JSON.stringify(others[0])}`);
  const opened = await open(host, flags, surroundings());
  const { servers } = opened.content;
  if (!Object.hasOwn(servers, name)) {
    const names = Object.keys(servers);
    const known = names.length === 0 ? '' : `; there are ${names.join(', ')}`;
    throw Failure.usage(
      `${host.title} has no server ${JSON.stringify(name)} in ${opened.read.file}${suggestion(name, names) || known}`,
    );
  }
  hideSecrets(servers);
  const output = new Output({});
  const without = (content: ServerText): string => content.without(name);
  if (!(await change(opened, without, without, flags, output))) return;
  await output.text(`Removed ${JSON.stringify(name)} from ${host.title}: ${opened.read.file}`);
}

/** A host's file, opened for a change. */
interface Opened {
  readonly read: TextFile;
  /** The text without a byte order mark. */
  readonly content: ServerText;
}

async function open(host: Host, flags: ChangeFlags, where: Surroundings): Promise<Opened> {
  if (!flags.yes && !flags.dryRun && !new Terminal().interactive) {
    throw Failure.usage('without a terminal, add --yes to change the file, or --dry-run to only show the difference');
  }
  const file = fileOf(host, flags, where);
  try {
    const read = await readTextFile(file, MAX_CONFIG_FILE);
    return { read, content: await contentOf(host, (read.text ?? '').replace(/^\ufeff/, '')) };
  } catch (error) {
    throw Failure.usage(`cannot use ${file}: ${fileProblem(error)}`);
  }
}

async function contentOf({ format, key }: Host, text: string): Promise<ServerText> {
  if (format === 'json') return (await import('./json-text.ts')).openJson(text, key);
  return (await import('./toml-text.ts')).openToml(text, key);
}

function fileOf(host: Host, { project, file }: ChangeFlags, where: Surroundings): string {
  if (file !== undefined) return path.resolve(where.cwd, file);
  if (!project) return host.user(where);
  if (host.project === undefined) throw Failure.usage(`${host.title} has no file for a project`);
  return path.join(where.cwd, host.project);
}

/**
 * Shows a change, asks, and writes it.
 *
 * @param shown the same change without secrets.
 * @returns whether the file was written.
 */
async function change(
  { read, content }: Opened,
  edit: (content: ServerText) => string,
  shown: (content: ServerText) => string,
  flags: ChangeFlags,
  output: Output,
): Promise<boolean> {
  const mark = read.text?.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const { file, text } = read;
  try {
    const after = mark + edit(content);
    await output.diff(unifiedDiff(file, text, mark + shown(content)).map(withoutNamedSecret));
    if (flags.dryRun) return false;
    if (!flags.yes && !(await confirmed())) {
      printStatus('nothing was changed');
      process.exitCode = ExitCode.Refused;
      return false;
    }
    await replaceFile(read, after);
    return true;
  } catch (error) {
    if (error instanceof FormatError) throw Failure.usage(`cannot change ${file}: ${error.message}`);
    throw new Failure(ExitCode.Refused, `cannot change ${file}: ${fileProblem(error)}`, { cause: error });
  }
}

/** Asks the user. Ctrl-C and other signals of the process end the question. */
async function confirmed(): Promise<boolean> {
  const terminal = new Terminal();
  atEnd(async () => {
    process.exitCode = ExitCode.Interrupted;
    terminal.close();
  });
  try {
    return (await agrees(terminal, 'Write this?', true, new AbortController().signal)) ?? false;
  } finally {
    terminal.close();
  }
}

function hostIn(word: string | undefined): Host {
  const names = HOSTS.map(({ name }) => name);
  if (word === undefined) throw Failure.usage(`a host is missing: ${names.join(', ')}`);
  const host = HOSTS.find(({ name }) => name === word);
  if (host) return host;
  throw Failure.usage(
    `there is no host ${JSON.stringify(word)}${suggestion(word, names) || `; there are ${names.join(', ')}`}`,
  );
}

function targetIn([first, ...others]: readonly string[], command: readonly string[] | undefined): Target {
  const extra = command === undefined ? others[0] : first;
  if (extra !== undefined) throw Failure.usage(`install takes a host and one server: remove ${JSON.stringify(extra)}`);
  if (command !== undefined) return commandTarget(command);
  if (first === undefined) throw Failure.usage('a server is missing: a URL, or -- and a command');
  const problem = isUrl(first) ? urlProblem(first) : 'is a URL, or -- and a command at the end of the line';
  if (problem !== undefined) throw Failure.usage(`the server ${problem}`);
  return { kind: 'url', url: first, headers: {} };
}

function nameFor(target: Target, given: string | undefined, cwd: string): string {
  const name =
    given ??
    serverName(target, cwd)
      .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
      .slice(0, 64);
  if (NAME.test(name)) return name;
  throw Failure.usage('--name must be 1 to 64 letters, digits, - and _');
}

/** Warns of what will not work when the host starts the command. */
function warnOfCommand(target: CommandServer, { title }: Host, flags: InstallFlags, { cwd, env }: Surroundings): void {
  const inProject = flags.project ?? false;
  if (!inProject) warnOfRelativePaths(target, cwd);
  const config = bridgeConfigIn([target.command, ...target.args]);
  if (config === undefined) return;
  const given = flags.env.map((word) => word.slice(0, word.indexOf('=')));
  for (const problem of problemsOfBridge(config, { title, cwd, env, given, inProject })) printStatus(problem);
}

/** A host starts commands in a folder of its own. */
function warnOfRelativePaths({ command, args }: { command: string; args: readonly string[] }, cwd: string): void {
  const relative = [command, ...args].find(
    (word) => /[/\\.]/.test(word) && !path.isAbsolute(word) && existsSync(path.resolve(cwd, word)),
  );
  if (relative === undefined) return;
  printStatus(
    `${relative} is a relative path, and hosts start servers in a folder of their own: ` +
      `use ${path.resolve(cwd, relative)}`,
  );
}

/** The arguments that are secrets are not shown. */
function withoutSecretArguments({ shown }: HostEntry): JsonObject {
  const args = shown['args'] as readonly string[];
  return { ...shown, args: withoutSecrets(args) };
}
