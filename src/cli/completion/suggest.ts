import type { Command, Option } from 'commander';
import { printableLine } from '../../base/printable.ts';
import { HOSTS } from '../hosts.ts';
import { namesIn } from '../mcp-json.ts';
import type { Surroundings } from '../surroundings.ts';
import { SHELLS } from './shells.ts';

/** A word that may be next in a command line. */
export interface Suggestion {
  readonly word: string;
  readonly description: string;
}

/** The shell completes names of files. */
export const FILES = 'files';

/** What the flags of an option end with if its value is a file or a folder. */
const FILE_VALUE = / <(?:file|directory)>$/;

/** What the usage of a command begins with if its first word is a target. */
const WITH_TARGET = /^\[options\] [<[]target[\]>]/;

/** The words after the target of `everwire list`. */
const KINDS = ['tools', 'resources', 'templates', 'prompts'];

/**
 * What may be the last word of a command line. It reads configuration files, but starts no server.
 *
 * @param words after `everwire`. The last one is what the user has typed of the word so far, which may be empty.
 */
export function suggest(root: Command, words: readonly string[], where: Surroundings): Suggestion[] | typeof FILES {
  // A shell that cannot pass an empty word passes two quotes.
  const last = words.at(-1) ?? '';
  const typed = last === '""' ? '' : last;
  const before = words.slice(0, -1);
  // What follows belongs to another program.
  if (before.includes('--')) return FILES;
  const found = next(root, before, typed, where);
  return found === FILES ? FILES : found.filter(({ word }) => word.startsWith(typed) && printableLine(word) === word);
}

function next(
  root: Command,
  before: readonly string[],
  typed: string,
  where: Surroundings,
): Suggestion[] | typeof FILES {
  const [name] = before;
  if (name === undefined) return typed.startsWith('-') ? optionsOf(root, []) : commandsOf(root);
  const command = root.commands.find((each) => each.name() === name);
  if (!command) return [];
  const [, inline] = /^(--[^=]+)=/.exec(typed) ?? [];
  if (inline !== undefined) {
    const values = valuesOf(command, inline);
    return values === FILES ? FILES : values.map(({ word }) => described(`${inline}=${word}`));
  }
  const { positionals, config, valueOf } = read(command, before.slice(1));
  if (valueOf !== undefined) return valuesOf(command, valueOf);
  if (typed.startsWith('-')) return optionsOf(command, before);
  return wordsFor(command, positionals, config, where);
}

/** The words before: those that are no options, the file of `--config`, and the option that waits for its value. */
function read(
  command: Command,
  words: readonly string[],
): { positionals: string[]; config: string | undefined; valueOf: string | undefined } {
  const positionals: string[] = [];
  let config: string | undefined;
  let valueOf: string | undefined;
  for (const word of words) {
    if (valueOf !== undefined) {
      if (valueOf === '--config') config = word;
      valueOf = undefined;
    } else if (word.startsWith('--config=')) config = word.slice('--config='.length);
    else if (!word.startsWith('-')) positionals.push(word);
    else if (optionOf(command, word)?.required) valueOf = word;
  }
  return { positionals, config, valueOf };
}

function wordsFor(
  command: Command,
  positionals: readonly string[],
  config: string | undefined,
  where: Surroundings,
): Suggestion[] | typeof FILES {
  const name = command.name();
  const first = positionals.length === 0;
  if (command.usage().split(' ')[positionals.length + 1] === '<file>') return FILES;
  if (first && WITH_TARGET.test(command.usage()))
    return serversIn(config, where).map((each) => described(each.name, each.source));
  if (name === 'list') return KINDS.filter((kind) => !positionals.includes(kind)).map((kind) => described(kind));
  if ((name === 'install' || name === 'uninstall') && first) {
    return HOSTS.map((host) => described(host.name, host.title));
  }
  if (name === 'uninstall' && positionals.length === 1) {
    const host = HOSTS.find((each) => each.name === positionals[0] && each.format === 'json');
    const files = host ? [host.user(where), ...(host.project === undefined ? [] : [host.project])] : [];
    return files.flatMap((file) => serversIn(file, where)).map((each) => described(each.name));
  }
  if (name === 'completion' && first) return SHELLS.map((shell) => described(shell));
  return [];
}

/** The servers in a configuration. A name like an option would be one, with a value of somebody else. */
function serversIn(config: string | undefined, where: Surroundings): { name: string; source: string }[] {
  return namesIn(config, where).filter(({ name }) => !name.startsWith('-'));
}

function commandsOf(root: Command): Suggestion[] {
  return root.commands.map((command) => described(command.name(), command.description()));
}

/** The options that may still be given. */
function optionsOf(command: Command, before: readonly string[]): Suggestion[] {
  const given = new Set(before.map((word) => word.split('=')[0]!));
  return command.options
    .concat(command.createOption('--help', 'display help for command'))
    .filter(({ long, defaultValue }) => long && (Array.isArray(defaultValue) || !given.has(long)))
    .map((option) => described(option.long!, option.description));
}

function valuesOf(command: Command, name: string): Suggestion[] | typeof FILES {
  const option = optionOf(command, name);
  if (option && FILE_VALUE.test(option.flags)) return FILES;
  return (option?.argChoices ?? []).map((choice) => described(choice));
}

function optionOf(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short }) => long === word || short === word);
}

function described(word: string, description = ''): Suggestion {
  return { word, description };
}
