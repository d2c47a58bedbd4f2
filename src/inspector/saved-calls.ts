import path from 'node:path';
import { secretScrubber } from '../auth/scrub.ts';
import { fileProblem } from '../base/file-problem.ts';
import { readTextFile, replaceFile, type TextFile } from '../base/replace-file.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import { exactObject } from '../inspect/page-server/exact-json.ts';
import type { SaveCommand, SavedCall, SavedRule } from '../inspect/page-server/saved-api.ts';
import { parseSavedFile, savedText, type SavedFile } from './saved-file.ts';

/** The largest file, in bytes. */
const MAX_FILE = 1024 * 1024;
/** The most calls of a server. */
const MAX_CALLS = 500;
const NOTHING: SavedFile = { calls: new Map(), rules: new Map() };

export interface SavedCallsOptions {
  /** The file. It is created by the first call that is saved. */
  readonly file: string;
  /** What must not be saved: the secrets of configurations. Default none. */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * Calls and rules that the user has saved in a file, to use them again. The file is read again before each change, because it may
 * be edited or come from version control. It has no headers.
 */
export class SavedCalls {
  /** As it is shown to the user. */
  readonly file: string;
  readonly #secrets: readonly string[];
  /** Changes wait for each other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({ file, secrets = [] }: SavedCallsOptions) {
    this.file = file;
    this.#secrets = secrets;
  }

  /**
   * The calls of a server.
   *
   * @throws CommandRefused if the file cannot be used.
   */
  async list(server: string): Promise<readonly SavedCall[]> {
    return (await this.#read()).saved.calls.get(server) ?? [];
  }

  /**
   * Saves a call.
   *
   * @param secrets of this connection, such as the values of its headers.
   * @throws CommandRefused if it cannot be saved. Then the file is as before.
   */
  async save(
    server: string,
    { name, method, params, replace }: SaveCommand,
    secrets: readonly string[],
  ): Promise<void> {
    const call: SavedCall = { name: name.trim(), method, params: exactObject(params, 'parameters') };
    if (this.#hasSecret(call, secrets))
      throw new CommandRefused(409, 'The call contains a secret, so it is not saved.');
    return this.#changeCalls(server, (calls) => {
      const others = calls.filter((each) => each.name !== call.name);
      if (others.length < calls.length && replace !== true)
        throw new CommandRefused(409, `There is already a saved call ${JSON.stringify(call.name)}.`);
      if (others.length >= MAX_CALLS) throw new CommandRefused(409, `There are already ${MAX_CALLS} saved calls.`);
      return [...others, call];
    });
  }

  /** @throws CommandRefused if the file cannot be changed. Then it is as before. */
  remove(server: string, name: string): Promise<void> {
    return this.#changeCalls(server, (calls) => calls.filter((each) => each.name !== name));
  }

  /**
   * The rules of a server.
   *
   * @throws CommandRefused if the file cannot be used.
   */
  async rules(server: string): Promise<readonly SavedRule[]> {
    return (await this.#read()).saved.rules.get(server) ?? [];
  }

  /**
   * Saves rules in place of those that the server has in the file.
   *
   * @param secrets of this connection.
   * @throws CommandRefused if they cannot be saved. Then the file is as before.
   */
  async saveRules(server: string, rules: readonly SavedRule[], secrets: readonly string[]): Promise<void> {
    if (this.#hasSecret(rules, secrets))
      throw new CommandRefused(409, 'The rules contain a secret, so they are not saved.');
    return this.#change(({ calls, rules: all }) => ({ calls, rules: new Map([...all, [server, rules]]) }));
  }

  #hasSecret(value: object, secrets: readonly string[]): boolean {
    const text = JSON.stringify(value);
    // Not what only looks like a credential: "basic research" is no secret.
    return secretScrubber([...this.#secrets, ...secrets])(text) !== text;
  }

  #changeCalls(server: string, edit: (calls: readonly SavedCall[]) => readonly SavedCall[]): Promise<void> {
    return this.#change(({ calls, rules }) => ({
      calls: new Map([...calls, [server, edit(calls.get(server) ?? [])]]),
      rules,
    }));
  }

  #change(edit: (saved: SavedFile) => SavedFile): Promise<void> {
    const changed = this.#last.then(async () => {
      const { read, saved } = await this.#read();
      const text = savedText(edit(saved));
      if (Buffer.byteLength(text) > MAX_FILE)
        throw new CommandRefused(409, `${this.file} would be larger than ${MAX_FILE} bytes.`);
      try {
        await replaceFile(read, text);
      } catch (cause) {
        throw new CommandRefused(409, `cannot write ${this.file}: ${fileProblem(cause)}`, { cause });
      }
    });
    this.#last = changed.catch(() => {});
    return changed;
  }

  async #read(): Promise<{ readonly read: TextFile; readonly saved: SavedFile }> {
    try {
      const read = await readTextFile(path.resolve(this.file), MAX_FILE);
      return { read, saved: read.text === undefined ? NOTHING : parseSavedFile(read.text) };
    } catch (cause) {
      throw new CommandRefused(409, `cannot use ${this.file}: ${fileProblem(cause)}`, { cause });
    }
  }
}
