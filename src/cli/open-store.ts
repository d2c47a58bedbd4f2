import type { EmbeddedState } from '../store/embedded/embedded-state.ts';
import { atLast } from './shutdown.ts';

/** Opens the state that `--store` names. It is closed after everything else. */
export async function openStore(
  directory: string | undefined,
  onwarning: (message: string) => void,
): Promise<EmbeddedState | undefined> {
  if (directory === undefined) return undefined;
  const { embeddedState } = await import('../store/embedded/embedded-state.ts');
  const state = await embeddedState(directory, { onwarning });
  atLast(() => state.close());
  return state;
}
