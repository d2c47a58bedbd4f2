import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Dialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import { countText } from '../wire/format.ts';
import { save } from '../wire/save.ts';
import type { WireRecord } from '../wire/wire-record.ts';
import { exportText, type ExportForm, type ExportSource } from './export-text.ts';
import { selectionOf } from './selection.ts';

const FORMS: Readonly<Record<ExportForm, { readonly title: string; readonly file: string }>> = {
  html: { title: 'HTML page, which needs no network', file: 'session.html' },
  har: { title: 'HAR 1.2, for the network panel of a browser', file: 'session.har' },
  curl: { title: 'Shell script with curl commands', file: 'session.sh' },
  vitest: { title: 'Vitest file', file: 'session.test.mjs' },
};

interface ExportDialogProps extends Omit<ExportSource, 'selection'> {
  /** The records that are shown. */
  readonly shown: readonly WireRecord[];
  readonly selected: WireRecord | undefined;
  readonly onclose: () => void;
}

/** Saves records of the wire as a file, without secrets. */
export function ExportDialog({ shown, selected, onclose, ...source }: ExportDialogProps): JSX.Element {
  const what = useSignal<'shown' | 'selected' | 'all'>('shown');
  const form = useSignal<ExportForm>('html');
  const isBusy = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  const { store } = source;
  const run = async (): Promise<void> => {
    problem.value = undefined;
    isBusy.value = true;
    try {
      const records = what.value === 'selected' ? [selected!] : shown;
      const selection = what.value === 'all' ? undefined : selectionOf(records, store);
      const text = await exportText({ ...source, selection }, form.value);
      const { file } = FORMS[form.value];
      await save(file, [text]);
      onclose();
      toast(`Exported as ${file}. Look at it before you share it.`);
    } catch (error) {
      problem.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Dialog title="Export" onclose={onclose}>
      <form
        class="call save-call"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <label>
          Records
          <select
            value={what.value}
            onChange={({ currentTarget }) => {
              what.value = currentTarget.value as typeof what.value;
            }}
          >
            <option value="shown">Calls of the {countText(shown.length)} records that are shown</option>
            {selected && <option value="selected">The call of record #{selected.n}</option>}
            <option value="all">All {countText(store.records.length)} records in memory</option>
          </select>
        </label>
        <label>
          Format
          <select
            value={form.value}
            onChange={({ currentTarget }) => {
              form.value = currentTarget.value as ExportForm;
            }}
          >
            {Object.entries(FORMS).map(([name, { title }]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <p class="soft">
          Values whose names suggest a secret are masked everywhere. Everwire cannot know what else is secret.
        </p>
        {problem.value !== undefined && (
          <p class="notice bad" role="alert">
            <Visible text={problem.value} />
          </p>
        )}
        <p class="toolbar">
          <button type="submit" class="primary" disabled={isBusy.value}>
            Export
          </button>
        </p>
      </form>
    </Dialog>
  );
}
