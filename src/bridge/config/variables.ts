import { homedir } from 'node:os';
import path from 'node:path';
import { collectTexts } from '../../jsonrpc/texts.ts';

/** The sources for values of variables in a configuration. */
export interface ConfigVariables {
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The folder that is open in the host. Default: the file's own folder, or the one above `.vscode` and `.cursor`. */
  readonly workspaceFolder?: string | undefined;
  /** Default: the user's home. */
  readonly home?: string | undefined;
}

/** The inputs that VS Code would ask the user for. */
export interface Input {
  readonly description: string | undefined;
  readonly default: string | undefined;
}

/**
 * Replaces variables in a text by their values: `${env:NAME}`, or `${NAME}` as in some hosts, each also with
 * `:-default`; `${input:id}`; and `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}`
 * of VS Code and Cursor. Other names in such brackets stay unchanged.
 *
 * @param wrong called with a variable that has no value. Do not use the text then.
 */
export type Fill = (text: string, wrong: (problem: string) => void) => string;

/** `${NAME}`, `${kind:name}`, each also with `:-default`. */
const VARIABLE = /\$\{([A-Za-z_]\w*|\/)(?::(?!-)([^}]+?))?(?::-([^}]*))?\}/g;

/** @param file the configuration file, which the default of `workspaceFolder` depends on. */
export function fillWith(
  { env = process.env, workspaceFolder, home = homedir() }: ConfigVariables,
  file = '',
  inputs: ReadonlyMap<string, Input> = new Map(),
): Fill {
  const folder = workspaceFolder ?? folderOf(file);
  const predefined = new Map([
    ['workspaceFolder', folder],
    ['workspaceFolderBasename', path.basename(folder)],
    ['userHome', home],
    ['pathSeparator', path.sep],
    ['/', path.sep],
  ]);
  return (text, wrong) => {
    const variable = (name: string, otherwise: string | undefined): string => {
      const value = env[name] ?? otherwise;
      if (value === undefined) wrong(`needs the environment variable ${name}, which is not set`);
      return value ?? '';
    };
    // There may be no user to ask, so an input comes from the environment.
    const input = (id: string): string => {
      const { description, default: usual } = inputs.get(id) ?? {};
      const name = inputVariable(id);
      const value = env[name] ?? usual;
      if (value === undefined) {
        const what = description === undefined ? '' : ` (${description})`;
        wrong(`needs the input ${JSON.stringify(id)}${what}: set the environment variable ${name}`);
      }
      return value ?? '';
    };
    const end = endOfVariables(text);
    const replaced = text
      .slice(0, end)
      .replace(VARIABLE, (whole, first: string, name: string | undefined, otherwise: string | undefined) => {
        if (name === undefined) return predefined.get(first) ?? variable(first, otherwise);
        if (first === 'env') return variable(name, otherwise);
        if (first === 'input') return input(name);
        if (first === 'command' || first === 'config') wrong(`needs \${${first}:…}, which only an editor can fill in`);
        return whole;
      });
    return replaced + text.slice(end);
  };
}

/** Whether a text ends within a variable. It is then used as it is written. */
export function hasUnclosedVariable(text: string): boolean {
  return text.lastIndexOf('${') > text.lastIndexOf('}');
}

/** Follows the place of such a text. */
export const UNCLOSED = 'has a variable that begins with "${" and has no "}": it is not filled in';

/** Variables that every program may need. They are never withheld from a server. */
const COMMON =
  /^(?:PATH|PATHEXT|HOME|HOMEDRIVE|HOMEPATH|USER|USERNAME|USERPROFILE|LOGNAME|SHELL|COMSPEC|TERM|LANG|LANGUAGE|LC_\w+|TZ|TMP|TEMP|TMPDIR|PWD|XDG_\w+|DISPLAY|WAYLAND_DISPLAY|(?:LOCAL)?APPDATA|PROGRAM(?:DATA|FILES)\w*|SYSTEM(?:ROOT|DRIVE)|WINDIR|(?:HTTPS?|ALL|NO)_PROXY|NODE_(?:PATH|OPTIONS|EXTRA_CA_CERTS)|SSL_CERT_(?:FILE|DIR))$/i;

export function isCommonVariable(name: string): boolean {
  return COMMON.test(name);
}

/** The environment variables that a part of a configuration names, except those that every program may need. */
export function variablesOf(entries: unknown): Set<string> {
  const names = new Set<string>();
  // Each text on its own, as they are filled in: an unclosed variable of one text does not end in another.
  const texts = new Set<string>();
  collectTexts(entries, texts);
  for (const text of texts) {
    for (const [, first, name] of text.slice(0, endOfVariables(text)).matchAll(VARIABLE)) {
      const variable = variableFor(first!, name);
      if (variable !== undefined && /^\w+$/.test(variable) && !isCommonVariable(variable)) names.add(variable);
    }
  }
  return names;
}

/**
 * Past this position no variable can end. Without it, the pattern would search the whole rest for the end of each `${`.
 */
function endOfVariables(text: string): number {
  return text.lastIndexOf('}') + 1;
}

/** The environment variable that `${first:name}` or `${first}` needs, if any. */
function variableFor(first: string, name: string | undefined): string | undefined {
  if (name === undefined) return first;
  if (first === 'env') return name;
  return first === 'input' ? inputVariable(name) : undefined;
}

/** The environment variable that stands for an input: `EVERWIRE_INPUT_API_KEY` for `api-key`. */
function inputVariable(id: string): string {
  return `EVERWIRE_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`;
}

function folderOf(file: string): string {
  const folder = path.dirname(path.resolve(file));
  return ['.vscode', '.cursor'].includes(path.basename(folder)) ? path.dirname(folder) : folder;
}
