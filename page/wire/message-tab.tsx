import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { CopyButton } from '../ui/copy-button.tsx';
import { JsonTree } from '../ui/json-tree.tsx';
import { fitting, Visible } from '../ui/visible.tsx';
import { sizeText } from './format.ts';
import { messageOf } from './related.ts';
import type { RecordStore } from './record-store.ts';
import { save } from './save.ts';
import { sizeOf, type WireRecord } from './wire-record.ts';

/** A larger message is shown only in part. Bytes. */
const MAX_SHOWN = 512 * 1024;
/** The part of a large message that is shown. Bytes. */
const HEAD = 16 * 1024;

const isRaw = signal(false);

/** A message as a tree, or as it was sent. */
export function MessageTab({ record, store }: { record: WireRecord; store: RecordStore }): JSX.Element {
  const message = messageOf(record, store);
  if (!message) return <p class="empty">This record is not a message.</p>;
  const size = sizeOf(message.range!);
  const { pieces, missing } = store.bytes(message);
  if (missing > 0) return <p class="empty">{sizeText(missing)} of this message are no longer in memory.</p>;
  const isLarge = size > MAX_SHOWN;
  const text = isLarge ? store.head(message, HEAD) : store.text(message)!;
  const isShownRaw = isRaw.value || isLarge;
  const shown = isShownRaw ? fitting(text, MAX_SHOWN, true) : text.length;
  return (
    <>
      <div class="toolbar">
        <div class="segments" role="group" aria-label="View">
          {[false, true].map((raw) => (
            <button
              key={raw}
              type="button"
              aria-pressed={isShownRaw === raw}
              disabled={isLarge}
              onClick={() => {
                isRaw.value = raw;
              }}
            >
              {raw ? 'Raw' : 'Tree'}
            </button>
          ))}
        </div>
        <span class="soft">{sizeText(size)}</span>
        {!isLarge && <CopyButton text={text} label="Copy message" />}
        <button type="button" onClick={() => void save(`message-${message.n}.json`, pieces)}>
          Save message
        </button>
      </div>
      {(isLarge || shown < text.length) && (
        <p class="notice">
          Only the first {shown < text.length ? `${shown.toLocaleString('en')} characters` : sizeText(HEAD)} are shown.
          Save the message to see all of it.
        </p>
      )}
      {message.note !== undefined && (
        <p class="notice warn">
          <Visible text={message.note} />
        </p>
      )}
      {isShownRaw ? (
        <pre class="wire-raw" tabIndex={0}>
          <Visible text={text} lines max={MAX_SHOWN} />
        </pre>
      ) : (
        <JsonTree text={text} label="Message" />
      )}
    </>
  );
}
