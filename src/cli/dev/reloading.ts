import path from 'node:path';
import { Deferred } from '../../base/deferred.ts';
import { waitFor } from '../../base/wait.ts';
import { ExitCode, Failure } from '../failure.ts';
import { printStatus } from '../print-status.ts';
import { FileWatch } from './file-watch.ts';
import { compareLists, counted, readLists, type Lists } from './lists.ts';
import { Version } from './version.ts';
import { Versions } from './versions.ts';

export interface ReloadingOptions {
  /** The absolute path of the file that exports the server. */
  readonly file: string;
  /** Modules that Node loads first. */
  readonly imports: readonly string[];
  /** Whether somebody is there to mend the file if the first version does not start. */
  readonly waits: boolean;
  /** Called if the first version does not start and nobody is there. */
  readonly onfailure: (failure: Failure) => void;
}

/** The most differences of one reload that are printed. */
const MAX_LINES = 20;
/** After this many milliseconds, it is said that the file is still being loaded. */
const SLOW = 3000;

/**
 * Serves a file, and each new version of it. A version replaces the last one when it is loaded and has listed what it
 * offers. So a mistake in the file changes nothing for clients.
 */
export class Reloading {
  readonly versions: Versions;
  /** Resolves with the name that the first version gives its server. */
  readonly named: Promise<string>;
  readonly #named = new Deferred<string>();
  readonly #options: ReloadingOptions;
  readonly #name: string;
  readonly #watch: FileWatch;
  #count = 0;
  #lists: Lists | undefined;
  /** Ends the attempt to start a version. */
  #attempt: AbortController | undefined;
  /** The attempts and old versions that are being ended. */
  readonly #ending = new Set<Promise<void>>();

  constructor(options: ReloadingOptions) {
    this.#options = options;
    this.named = this.#named.promise;
    this.#name = path.basename(options.file);
    this.versions = new Versions(this.#name, ({ message }) => printStatus(message));
    this.#watch = new FileWatch((files) => this.#reload(files));
  }

  /** Starts the first version. Until then, requests wait. Called once. */
  start(): void {
    this.#reload([]);
  }

  async close(): Promise<void> {
    this.#watch.close();
    this.#attempt?.abort();
    await Promise.all([this.versions.close(), ...this.#ending]);
  }

  #reload(changed: readonly string[]): void {
    this.#attempt?.abort();
    const attempt = new AbortController();
    this.#attempt = attempt;
    const ending = this.#start(changed, attempt.signal).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #start(changed: readonly string[], signal: AbortSignal): Promise<void> {
    const { file, imports } = this.#options;
    this.#watch.clear();
    this.#watch.add(file);
    this.versions.starting();
    // Only the newest version knows which modules matter.
    const onfiles = (files: readonly string[]): void => {
      if (!signal.aborted) for (const each of files) this.#watch.add(each);
    };
    this.#count += 1;
    const onerror = ({ message }: Error): void => printStatus(message);
    const version = new Version(`v${this.#count}`, { file, imports, onfiles, onerror }, onerror);
    const slow = setTimeout(() => printStatus(`${this.#name} is still being loaded`), SLOW);
    try {
      await waitFor(version.ready, { signal });
      const lists = await readLists(() => version.open(), signal);
      signal.throwIfAborted();
      this.#replace(version, lists, changed);
    } catch (error) {
      clearTimeout(slow);
      if (!signal.aborted) this.#failed(error as Error);
      await version.close();
    } finally {
      clearTimeout(slow);
    }
  }

  #replace(version: Version, lists: Lists, changed: readonly string[]): void {
    const before = this.#lists;
    this.#lists = lists;
    const differences = before ? compareLists(before, lists) : { changed: {}, lines: [] };
    this.versions.replace(version, differences.changed);
    if (!before) {
      printStatus(`serving ${lists.name} ${lists.version} with ${counted(lists)}`);
      return this.#named.resolve(lists.name);
    }
    const { lines } = differences;
    const shown = lines.slice(0, MAX_LINES);
    if (lines.length > shown.length) shown.push(`and ${lines.length - shown.length} more`);
    if (lines.length === 0) shown.push('the lists are the same');
    printStatus([`reloaded, because ${namesOf(changed)} changed`, ...shown].join('\n'));
  }

  #failed({ message }: Error): void {
    this.versions.failed();
    const problem = `${this.#name} did not start: ${message}`;
    if (!this.#lists && !this.#options.waits) return this.#options.onfailure(new Failure(ExitCode.Refused, problem));
    const now = this.#lists ? 'the last version that worked is still served' : 'nothing is served yet';
    printStatus(`${problem}\n${now}; change the file to try again`);
  }
}

/** The names of changed files, relative to the working directory. */
function namesOf(files: readonly string[]): string {
  const [first = '', ...others] = files.map((file) => path.relative('', file));
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
