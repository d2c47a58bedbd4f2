import type { JSX } from 'preact';
import { toast } from '../ui/toast.tsx';
import type { BreakpointView } from './breakpoint-view.ts';

/** Saves the rules in the file of saved calls, and adds those of the file, turned off. */
export function SavedRules({ view }: { view: BreakpointView }): JSX.Element | null {
  const { savedFile: file, server } = view;
  if (file === undefined) return null;
  const save = async (): Promise<void> => {
    await server.send('saveRules', {});
    toast(`Saved the rules in ${file}`);
  };
  const add = async (): Promise<void> => {
    const { added } = await server.send('addSavedRules', {});
    const what = added === 1 ? '1 saved rule was added.' : `${added} saved rules were added.`;
    toast(added === 0 ? what : `${what} Turn on those that you want to use.`);
  };
  return (
    <p class="toolbar">
      <button type="button" disabled={!view.state?.rules.length} onClick={() => view.run(save())}>
        Save rules
      </button>
      <button type="button" onClick={() => view.run(add())}>
        Add saved rules
      </button>
      <span class="soft">
        in <code>{file}</code>, for this server
      </span>
    </p>
  );
}
