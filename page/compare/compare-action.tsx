import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useCommands } from '../ui/commands.ts';
import { toast } from '../ui/toast.tsx';
import type { WireRecord } from '../wire/wire-record.ts';
import type { CompareView } from './compare-view.ts';

interface CompareActionProps {
  readonly record: WireRecord;
  readonly view: CompareView;
  readonly visible: boolean;
}

/** Chooses two records, one after the other, to compare them. */
export function CompareAction({ record, view, visible }: CompareActionProps): JSX.Element {
  const choose = (): void => {
    view.choose(record);
    if (view.isWaiting) toast(`Record #${record.n} is chosen. Select another one, and press Compare again.`);
  };
  useCommands(
    useMemo(() => [{ title: 'Compare the record', keys: 'd', run: choose }], [record, view]),
    visible,
  );
  const first = view.first.value;
  const isNext = view.isWaiting && first !== record;
  return (
    <button type="button" onClick={choose}>
      {isNext ? `Compare with #${first!.n}` : 'Compare'}
    </button>
  );
}
