import { fileProblem } from '../base/file-problem.ts';
import { readUtf8File } from '../base/text-file.ts';
import { Failure } from './failure.ts';
import { MIN_SECRET, variableIn } from './secrets.ts';

/** The environment of the process. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly read: (file: string) => string;
}

/** The largest file of secrets, in bytes. */
export const MAX_SECRET_FILE = 1024 * 1024;

export const ENVIRONMENT: Environment = {
  env: process.env,
  read: (file) => readUtf8File(file, MAX_SECRET_FILE),
};

/** The environment variable with the value of `--state-key`. */
export const STATE_KEY_VARIABLE = 'EVERWIRE_STATE_KEY';
const MIN_STATE_KEY = 16;
/** The characters that a bearer token may have (RFC 6750, section 2.1). */
const TOKEN = /^[\w.~+/-]+=*$/;

/**
 * The secrets that an option value stands for: the value itself, the lines of `@file`, or the content of `env:NAME`.
 *
 * @throws Failure that names the option, and no secret.
 */
export function readSecret(option: string, word: string, { env, read }: Environment): string[] {
  const name = variableIn(word);
  let found: readonly Line[] = [{ text: word }];
  let where = option;
  if (name !== undefined) {
    const value = env[name];
    if (!value) throw Failure.usage(`${option} needs the environment variable ${name}, which is not set`);
    where = `${option} in the environment variable ${name}`;
    found = [{ text: value }];
  } else if (word.startsWith('@')) {
    const file = word.slice(1);
    where = `${option} in ${file}`;
    found = linesOf(option, file, read);
  }
  for (const { text: secret, line } of found) {
    const here = line === undefined ? where : `${where}, line ${line},`;
    if (secret.length < MIN_SECRET) {
      throw Failure.usage(`${here} is too short: it must have at least ${MIN_SECRET} characters`);
    }
    if (!TOKEN.test(secret)) {
      throw Failure.usage(`${here} must consist of letters, digits and -._~+/, with = only at the end`);
    }
  }
  return found.map(({ text }) => text);
}

/** A secret, and its line if it is in a file. */
interface Line {
  readonly text: string;
  readonly line?: number;
}

/** @throws Failure if it is not exactly one secret, or if the secret is too easy to guess. */
export function readStateKey(word: string | undefined, environment = ENVIRONMENT): string | undefined {
  if (word === undefined) return undefined;
  const [key, ...others] = readSecret('--state-key', word, environment);
  if (others.length > 0) throw Failure.usage('--state-key must be one secret, but the file has several lines');
  if (key!.length < MIN_STATE_KEY) {
    throw Failure.usage(`--state-key is too short: it must have at least ${MIN_STATE_KEY} characters`);
  }
  return key;
}

function linesOf(option: string, file: string, read: Environment['read']): Line[] {
  let text: string;
  try {
    text = read(file);
  } catch (error) {
    throw Failure.usage(`${option} cannot read ${file}: ${fileProblem(error)}`);
  }
  const lines = text
    .split(/\r?\n/)
    .map((line, index) => ({ text: line.trim(), line: index + 1 }))
    .filter((line) => line.text !== '');
  if (lines.length === 0) throw Failure.usage(`${option} found no secret in ${file}`);
  return lines;
}

/**
 * The value of `--store`, which may be a URL with a password.
 *
 * @throws Failure if the environment variable is not set.
 */
export function readStore(word: string | undefined, { env } = ENVIRONMENT): string | undefined {
  const name = word === undefined ? undefined : variableIn(word);
  if (name === undefined) return word;
  if (!env[name]) throw Failure.usage(`--store needs the environment variable ${name}, which is not set`);
  return env[name];
}
