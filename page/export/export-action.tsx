import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useCommands } from '../ui/commands.ts';
import { lazy } from '../ui/lazy.tsx';
import type { Wire } from '../wire/wire.ts';

const ExportDialog = lazy(async () => (await import('./export-dialog.tsx')).ExportDialog);

interface ExportActionProps {
  readonly wire: Wire;
  /** What is inspected. */
  readonly name: string;
  readonly visible: boolean;
}

/** Exports records of the wire. */
export function ExportAction({ wire, name, visible }: ExportActionProps): JSX.Element {
  const { store, view, source } = wire;
  const isOpen = useSignal(false);
  const show = (open: boolean): void => {
    isOpen.value = open;
  };
  useCommands(
    useMemo(() => [{ title: 'Export records', run: () => show(true) }], []),
    visible,
  );
  return (
    <>
      <button type="button" onClick={() => show(true)}>
        Export
      </button>
      {isOpen.value && (
        <ExportDialog
          store={store}
          name={name}
          started={source.started.value ?? new Date()}
          shown={view.rows}
          selected={view.selected.value}
          onclose={() => show(false)}
        />
      )}
    </>
  );
}
