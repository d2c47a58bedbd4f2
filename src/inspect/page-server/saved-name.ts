import type { SavedCall } from './saved-api.ts';

/** The requests that can be saved. */
export const SAVED_METHODS = ['tools/call', 'resources/read', 'prompts/get'] as const satisfies SavedCall['method'][];

/** The longest name of a saved call, in UTF-16 code units. */
export const MAX_SAVED_NAME = 100;

/** Whether a saved call can have this name. It is shown in one line. */
export function isSavedName(name: string): boolean {
  return name.trim() !== '' && name.length <= MAX_SAVED_NAME && !/\p{C}/u.test(name);
}
