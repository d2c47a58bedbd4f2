import { nearest, suggestion } from '../../base/nearest.ts';
import { isStrings } from '../../jsonrpc/message.ts';
import type { ConfigJson } from './json.ts';
import type { Fill } from './variables.ts';

/** At most this many problems of one file are reported at once. */
const MAX_PROBLEMS = 10;

/** An error for a configuration that cannot be used. The message does not quote values, because they may be secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  /** Each with its place: `line 4, column 7: mcpServers.weather.args must be a list of strings`. */
  readonly problems: readonly string[];

  constructor(file: string, problems: readonly string[], options?: ErrorOptions) {
    const shown = problems.slice(0, MAX_PROBLEMS);
    if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
    super(`${file}: ${shown.join('; ')}`, options);
    this.file = file;
    this.problems = problems;
  }
}

/** What was found in a file. Warnings do not prevent its use. */
export interface Found {
  readonly problems: string[];
  readonly warnings: string[];
}

/** A place in a configuration file, and what is wrong there. */
export class Place {
  readonly #path: (string | number)[];
  readonly #fill: Fill;
  readonly #json: ConfigJson;
  readonly #found: Found;

  /** @param found collects the problems and the warnings, each with its place. */
  constructor(json: ConfigJson, found: Found, fill: Fill, path: (string | number)[] = []) {
    this.#json = json;
    this.#fill = fill;
    this.#found = found;
    this.#path = path;
  }

  at(...keys: readonly (string | number)[]): Place {
    return new Place(this.#json, this.#found, this.#fill, [...this.#path, ...keys]);
  }

  /** Reports a problem: `must be a string`. */
  wrong(problem: string): undefined {
    this.#found.problems.push(this.#tell(problem));
    return undefined;
  }

  /** Reports what can be used, but is probably a mistake. */
  warn(what: string): void {
    this.#found.warnings.push(this.#tell(what));
  }

  /** Warns about keys that are probably misspelt. Hosts have further keys, so other unknown keys are accepted. */
  misspelt(object: object, keys: ReadonlySet<string>): void {
    for (const key of Object.keys(object)) {
      const meant = keys.has(key) ? undefined : nearest(key, keys);
      if (meant !== undefined) this.at(key).warn(`is ignored (did you mean ${JSON.stringify(meant)}?)`);
    }
  }

  /** Refuses unknown keys in an object that only Everwire reads. */
  only(object: object, keys: readonly string[]): void {
    for (const key of Object.keys(object)) {
      if (!keys.includes(key)) {
        this.at(key).wrong(`is not a setting${suggestion(key, keys) || `; the settings are ${keys.join(', ')}`}`);
      }
    }
  }

  /** A text with its variables filled in. Undefined if one has no value. */
  filled(text: string): string | undefined {
    let complete = true;
    const filled = this.#fill(text, (problem) => {
      complete = false;
      this.wrong(problem);
    });
    return complete ? filled : undefined;
  }

  /** A non-empty string with its variables filled in. */
  string(value: unknown): string | undefined {
    return typeof value === 'string' && value !== '' ? this.filled(value) : this.wrong('must be a non-empty string');
  }

  strings(value: unknown): string[] | undefined {
    return isStrings(value) ? value : this.wrong('must be a list of strings');
  }

  choice<const T extends string>(value: unknown, choices: readonly T[]): T | undefined {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    const listed = choices.map((choice) => JSON.stringify(choice)).join(' or ');
    return this.wrong(`must be ${listed}${typeof value === 'string' ? suggestion(value, choices) : ''}`);
  }

  /** `line 4, column 7: mcpServers.weather.args[0] must be a string` */
  #tell(problem: string): string {
    const steps = this.#path.map((key) => {
      const simple = typeof key === 'string' && /^[A-Za-z_$][\w$-]*$/.test(key);
      return simple ? `.${key}` : `[${JSON.stringify(key)}]`;
    });
    const name = steps.join('').replace(/^\./, '') || 'the file';
    return `${this.#json.position(this.#path)}: ${name} ${problem}`;
  }
}
