import { homedir } from 'node:os';
import path from 'node:path';

/** What variables in a configuration stand for. */
export interface ConfigVariables {
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The folder that is open in the host. Default: the file's own, or the one above where that is `.vscode` or `.cursor`. */
  readonly workspaceFolder?: string | undefined;
  /** Default: the person's home. */
  readonly home?: string | undefined;
}

/** What VS Code would ask the person for. */
export interface Input {
  readonly description: string | undefined;
  readonly default: string | undefined;
}

/** `${NAME}`, `${kind:name}`, each also with `:-default`. */
const VARIABLE = /\$\{([A-Za-z_]\w*|\/)(?::(?!-)([^}]+?))?(?::-([^}]*))?\}/g;

/** Puts in what the variables of a configuration stand for. */
export class Filler {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #named: Readonly<Record<string, string>>;
  readonly #inputs: ReadonlyMap<string, Input>;

  constructor(
    { env = process.env, workspaceFolder, home = homedir() }: ConfigVariables,
    file: string,
    inputs: Filler['inputs'],
  ) {
    const folder = workspaceFolder ?? folderOf(file);
    this.#env = env;
    this.#inputs = inputs;
    this.#named = Object.assign(Object.create(null) as Record<string, string>, {
      workspaceFolder: folder,
      workspaceFolderBasename: path.basename(folder),
      userHome: home,
      pathSeparator: path.sep,
      '/': path.sep,
    });
  }

  get inputs(): ReadonlyMap<string, Input> {
    return this.#inputs;
  }

  /**
   * Puts in `${env:NAME}`, or `${NAME}` as some hosts write it, each also with `:-default`; `${input:id}`; and the folders
   * that VS Code and Cursor know: `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}`.
   * What else stands in such brackets is left as it is.
   *
   * @param wrong told what a variable lacks; the text is of no use then.
   */
  fill(text: string, wrong: (problem: string) => void): string {
    return text.replace(VARIABLE, (whole, first: string, name: string | undefined, otherwise: string | undefined) => {
      if (name === undefined) return this.#named[first] ?? this.#variable(first, otherwise, wrong);
      if (first === 'env') return this.#variable(name, otherwise, wrong);
      if (first === 'input') return this.#input(name, wrong);
      if (first === 'command' || first === 'config') wrong(`needs \${${first}:…}, which only an editor can tell`);
      return whole;
    });
  }

  #variable(name: string, otherwise: string | undefined, wrong: (problem: string) => void): string {
    const value = this.#env[name] ?? otherwise;
    if (value === undefined) wrong(`needs the environment variable ${name}, which is not set`);
    return value ?? '';
  }

  /** An editor asks for it; here there may be nobody to ask. */
  #input(id: string, wrong: (problem: string) => void): string {
    const input = this.#inputs.get(id);
    const variable = inputVariable(id);
    const value = this.#env[variable] ?? input?.default;
    if (value === undefined) {
      const what = input?.description === undefined ? '' : ` (${input.description})`;
      wrong(`needs the input ${JSON.stringify(id)}${what}: set the environment variable ${variable}`);
    }
    return value ?? '';
  }
}

/** Variables that every program may need: no server is denied them, even if another server's entry names them. */
const COMMON =
  /^(?:PATH|PATHEXT|HOME|HOMEDRIVE|HOMEPATH|USER|USERNAME|USERPROFILE|LOGNAME|SHELL|COMSPEC|TERM|LANG|LANGUAGE|LC_\w+|TZ|TMP|TEMP|TMPDIR|PWD|XDG_\w+|DISPLAY|WAYLAND_DISPLAY|(?:LOCAL)?APPDATA|PROGRAM(?:DATA|FILES)\w*|SYSTEM(?:ROOT|DRIVE)|WINDIR|(?:HTTPS?|ALL|NO)_PROXY|NODE_(?:PATH|OPTIONS|EXTRA_CA_CERTS)|SSL_CERT_(?:FILE|DIR))$/i;

/** The environment variables that an entry of a configuration names, except those that every program may need. */
export function variablesOf(entry: unknown): Set<string> {
  const names = new Set<string>();
  for (const [, first, name] of JSON.stringify(entry).matchAll(VARIABLE)) {
    const variable = variableFor(first!, name);
    if (variable !== undefined && /^\w+$/.test(variable) && !COMMON.test(variable)) names.add(variable);
  }
  return names;
}

/** The variable that `${first:name}` or `${first}` stands for; undefined where it stands for something else. */
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
