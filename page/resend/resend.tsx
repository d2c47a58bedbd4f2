import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import type { Server } from '../server/server.ts';
import { Dialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import type { RecordStore } from '../wire/record-store.ts';
import { exchangesOf } from '../wire/related.ts';
import type { WireRecord } from '../wire/wire-record.ts';
import { rawHead } from './raw-head.ts';

interface ResendProps {
  readonly record: WireRecord;
  readonly store: RecordStore;
  readonly server: Server;
  readonly onclose: () => void;
}

/** A message of the wire, to be sent again as raw bytes. */
export function Resend({ record, store, server, onclose }: ResendProps): JSX.Element {
  const id = useId();
  const recorded = useMemo(() => headOf(record, store), [record]);
  const head = useSignal(recorded?.text ?? '');
  const body = useSignal(store.text(record) ?? '');
  const isBase64 = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  const send = async (): Promise<void> => {
    problem.value = undefined;
    try {
      await server.send('resend', {
        head: recorded && recorded.restore(head.value),
        body: body.value,
        encoding: isBase64.value ? 'base64' : 'utf8',
      });
      onclose();
      toast('Sent. The answer appears in Wire.');
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  return (
    <Dialog title="Edit and resend" onclose={onclose}>
      <form
        class="call resend"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <p class="soft">
          Sent as it is written, also if it is invalid.{' '}
          {recorded
            ? 'Content-Length and Connection are added if they are missing.'
            : 'A line feed is added at its end.'}
        </p>
        {recorded && (
          <>
            <label for={`${id}-head`}>Request line and headers</label>
            <textarea
              id={`${id}-head`}
              rows={8}
              spellcheck={false}
              value={head.value}
              onInput={({ currentTarget }) => {
                head.value = currentTarget.value;
              }}
            />
          </>
        )}
        <label for={`${id}-body`}>{recorded ? 'Body' : 'Line'}</label>
        <textarea
          id={`${id}-body`}
          rows={10}
          spellcheck={false}
          value={body.value}
          onInput={({ currentTarget }) => {
            body.value = currentTarget.value;
          }}
        />
        <label class="inline">
          <input
            type="checkbox"
            checked={isBase64.value}
            onChange={({ currentTarget }) => {
              isBase64.value = currentTarget.checked;
            }}
          />
          It is base64, for bytes that are not text
        </label>
        {problem.value !== undefined && (
          <p class="notice bad" role="alert">
            <Visible text={problem.value} lines />
          </p>
        )}
        <p class="toolbar">
          <button type="submit" class="primary">
            Send
          </button>
        </p>
      </form>
    </Dialog>
  );
}

/** The head of the request that carried a message. Undefined over stdio. */
function headOf(record: WireRecord, store: RecordStore): ReturnType<typeof rawHead> | undefined {
  const own = exchangesOf({ ...record, spans: [] }, store)[0]?.records ?? [];
  const head = own.find(({ layer, dir }) => layer === 'head' && dir === 'c>s');
  const text = head && store.text(head);
  return text === undefined ? undefined : rawHead(text);
}
