import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Resend } from '../resend/resend.tsx';
import { useCommands } from '../ui/commands.ts';
import type { RecordStore } from '../wire/record-store.ts';
import type { WireRecord } from '../wire/wire-record.ts';
import type { BreakpointView } from './breakpoint-view.ts';

interface RecordActionsProps {
  readonly record: WireRecord;
  readonly store: RecordStore;
  readonly view: BreakpointView;
  /** Whether the screen with the record is visible. */
  readonly visible: boolean;
}

/** What can be done with a message of the wire. */
export function RecordActions({ record, store, view, visible }: RecordActionsProps): JSX.Element | null {
  const { layer, kind, dir, conn } = record;
  const isOpen = useSignal(false);
  // Nothing between an app and this page can be held or sent again.
  const isMessage = layer === 'message' && store.sideOf(conn) !== 'app';
  const canBreak = isMessage && kind !== 'batch' && view.state !== undefined;
  const canResend = isMessage && dir === 'c>s' && view.canResend;
  const resend = (): void => {
    isOpen.value = true;
  };
  const commands = useMemo(
    () => [
      ...(canBreak ? [{ title: 'Break on messages like this', keys: 'b', run: () => view.breakOn(record) }] : []),
      ...(canResend ? [{ title: 'Edit and resend', keys: 'e', run: resend }] : []),
    ],
    [record, canBreak, canResend],
  );
  useCommands(commands, visible);
  return (
    <>
      {canBreak && (
        <button type="button" onClick={() => view.breakOn(record)}>
          Break on messages like this
        </button>
      )}
      {canResend && (
        <button type="button" onClick={resend}>
          Edit and resend
        </button>
      )}
      {isOpen.value && (
        <Resend
          key={record.n}
          record={record}
          store={store}
          server={view.server}
          onclose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}
