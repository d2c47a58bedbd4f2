import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Rule } from '../breakpoints/breakpoint-api.ts';

/** The part of `page-api.ts` about saved calls and rules. The page imports this file too, so it has types only. */

/** The file of saved calls and rules. */
export interface SavedState {
  /** As the user named it. */
  readonly file: string;
  /** How often the page changed it. The list is then to be read again. */
  readonly changes: number;
}

/** A call that the user has saved. */
export interface SavedCall {
  /** Each saved call of a server has another name. */
  readonly name: string;
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get';
  readonly params: JsonObject;
}

/** A rule that the user has saved. */
export type SavedRule = Pick<Rule, 'filter' | 'action' | 'enabled' | 'nth'>;

/** A call to be saved. */
export interface SaveCommand extends Pick<SavedCall, 'name' | 'method'> {
  /** The parameters as JSON text. Refused as those of a request are. */
  readonly params: string;
  /** Whether to replace a saved call with this name. Default: the command is refused. */
  readonly replace?: boolean | undefined;
}

/** The commands about what is saved of the connected server. */
export interface SavedCommands {
  listSaved(nothing: object): Promise<readonly SavedCall[]>;
  save(call: SaveCommand): Promise<void>;
  removeSaved(call: { readonly name: string }): Promise<void>;
  /** Saves the rules that are set now, in place of those in the file. */
  saveRules(nothing: object): Promise<void>;
  /** Adds the rules of the file, turned off, after those that are set now. Leaves out those that are set already. */
  addSavedRules(nothing: object): Promise<{ readonly added: number }>;
}
