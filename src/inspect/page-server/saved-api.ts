import type { JsonObject } from '../../jsonrpc/message.ts';

/** The part of `page-api.ts` about saved calls. The page imports this file too, so it has types only. */

/** The file of saved calls. */
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

/** A call to be saved. */
export interface SaveCommand extends Pick<SavedCall, 'name' | 'method'> {
  /** The parameters as JSON text. Refused as those of a request are. */
  readonly params: string;
  /** Whether to replace a saved call with this name. Default: the command is refused. */
  readonly replace?: boolean | undefined;
}

/** The commands about the saved calls of the connected server. */
export interface SavedCommands {
  listSaved(nothing: object): Promise<readonly SavedCall[]>;
  save(call: SaveCommand): Promise<void>;
  removeSaved(call: { readonly name: string }): Promise<void>;
}
