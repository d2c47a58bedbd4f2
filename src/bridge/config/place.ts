import { suggestion } from '../../protocol/nearest.ts';

/** So many problems of one file are told at a time. */
const MAX_PROBLEMS = 10;

/** A configuration that cannot be used. It names the file and each place in it, and repeats no value: there may be secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  /** What is wrong, each with its place: `mcpServers.weather.args must be a list of texts`. */
  readonly problems: readonly string[];

  constructor(file: string, problems: readonly string[], options?: ErrorOptions) {
    const shown = problems.slice(0, MAX_PROBLEMS);
    if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
    super(`${file}: ${shown.join('; ')}`, options);
    this.file = file;
    this.problems = problems;
  }
}

/** What was found in a file while it was checked. */
export interface Findings {
  /** For which it cannot be used. */
  readonly problems: string[];
  /** What it can be used in spite of, and what its author may not have meant. */
  readonly warnings: string[];
}

/** A place in a file, as a person would write the way to it. */
export class Place {
  readonly path: string;
  readonly findings: Findings;

  constructor(path: string, findings: Findings) {
    this.path = path;
    this.findings = findings;
  }

  at(key: string | number): Place {
    const simple = typeof key === 'string' && /^[A-Za-z_$][\w$-]*$/.test(key);
    const step = simple ? (this.path === '' ? key : `.${key}`) : `[${JSON.stringify(key)}]`;
    return new Place(this.path + step, this.findings);
  }

  /** Takes note of a problem: `must be a text`. */
  wrong(problem: string): undefined {
    this.findings.problems.push(`${this.path || 'the file'} ${problem}`);
    return undefined;
  }

  warn(warning: string): void {
    this.findings.warnings.push(`${this.path || 'the file'} ${warning}`);
  }

  /** Refuses keys that are none of ours, where nobody else's can stand. */
  only(object: object, keys: readonly string[]): void {
    for (const key of Object.keys(object)) {
      if (!keys.includes(key)) {
        this.at(key).wrong(`is no setting${suggestion(key, keys) || `; there are ${keys.join(', ')}`}`);
      }
    }
  }

  text(value: unknown): string | undefined {
    return typeof value === 'string' && value !== '' ? value : this.wrong('must be a text that is not empty');
  }

  texts(value: unknown): string[] | undefined {
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
    return this.wrong('must be a list of texts');
  }

  choice<const T extends string>(value: unknown, choices: readonly T[]): T | undefined {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    const listed = choices.map((choice) => JSON.stringify(choice)).join(' or ');
    return this.wrong(`must be ${listed}${typeof value === 'string' ? suggestion(value, choices) : ''}`);
  }
}
