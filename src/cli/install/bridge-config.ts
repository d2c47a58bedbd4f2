/** Checks the file of a bridge that a host will start: the host has other variables, and another folder. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, readConfig, type FleetConfig, type ServerConfig } from '../../bridge/config/config.ts';
import { isCommonVariable } from '../../bridge/config/variables.ts';

/** How the host starts the bridge. */
export interface HostStart {
  /** The host's name. */
  readonly title: string;
  /** The folder that relative paths are now in. */
  readonly cwd: string;
  /** The environment of this process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The names of the variables that the entry gives the bridge. */
  readonly given: readonly string[];
  /** Whether the host starts it in the folder of the project. */
  readonly inProject: boolean;
}

const EVERWIRE = /^(?:.*[\\/])?everwire(?:\.cmd|\.js|@[^\\/]+)?$/;
const OPTION = '--config';
/** Programs that look for a package in the folder where they start. */
const RUNNERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx']);

/** The file of `everwire bridge --config <file>`. Undefined if the words are another command. */
export function bridgeConfigIn(words: readonly string[]): string | undefined {
  const program = words.findIndex((word) => EVERWIRE.test(word));
  if (program < 0 || words[program + 1] !== 'bridge') return undefined;
  const at = words.findIndex((word, index) => index > program && (word === OPTION || word.startsWith(`${OPTION}=`)));
  return words[at] === OPTION ? words[at + 1] : words[at]?.slice(OPTION.length + 1);
}

/** What will go wrong when the host starts a bridge with this file, in words for the user. */
export function problemsOfBridge(config: string, { title, cwd, env, given, inProject }: HostStart): string[] {
  const file = path.resolve(cwd, config);
  const problems: string[] = [];
  const known = Object.fromEntries(
    // Whether a given variable exists is all that matters here: the host may fill in its value.
    [...Object.keys(env).filter(isCommonVariable), ...given].map((name) => [name, env[name] ?? 'given']),
  );
  let read = tryRead(file, known);
  const missing = read instanceof ConfigError ? missingIn(read) : [];
  if (missing.length > 0) {
    const options = missing.map((name) => `--env ${name}=…`).join(' ');
    problems.push(`${file} needs variables that ${title} may not have, even if your shell has them: add ${options}`);
    read = tryRead(file, { ...known, ...Object.fromEntries(missing.map((name) => [name, 'missing'])) });
  }
  if (read instanceof ConfigError) return [...problems, `the bridge cannot use ${read.message}`];
  const inFolder = inProject ? [] : read.servers.filter((server) => needsFolder(server, path.dirname(file)));
  for (const { name } of inFolder) {
    problems.push(
      `the server ${JSON.stringify(name)} in ${file} would start in a folder of ${title}, ` +
        'and its command needs the folder of the file: add "cwd": "." to its entry',
    );
  }
  return problems;
}

function tryRead(file: string, env: Readonly<Record<string, string | undefined>>): FleetConfig | ConfigError {
  try {
    return readConfig(file, { env });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function missingIn({ problems }: ConfigError): string[] {
  const names = problems.map((problem) => /the environment variable (\w+)/.exec(problem)?.[1]);
  return [...new Set(names)].filter((name) => name !== undefined);
}

/** Whether the command finds something only in the folder of the file. */
function needsFolder(server: ServerConfig, folder: string): boolean {
  if (server.kind !== 'command' || server.cwd !== undefined) return false;
  const { command, args } = server;
  const exists = (...parts: string[]): boolean => existsSync(path.resolve(folder, ...parts));
  const isRelative = (word: string): boolean => /[/\\.]/.test(word) && !path.isAbsolute(word) && exists(word);
  if ([command, ...args].some(isRelative)) return true;
  if (!RUNNERS.has(path.basename(command, path.extname(command)))) return false;
  const name = args.find((arg) => !arg.startsWith('-'));
  return name !== undefined && (exists('node_modules', name) || exists('node_modules', '.bin', name));
}
