import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Visible } from '../ui/visible.tsx';
import { countText, DIRECTIONS, timeText } from './format.ts';
import { exchangesOf, messageOf } from './related.ts';
import type { RecordStore } from './record-store.ts';
import type { WireRecord } from './wire-record.ts';

/** The most frames before the selected one, and after it. */
const AROUND = 100;
/** The most lines of a frame that is not the selected one. */
const FEW = 20;
/** The most bytes of a frame that are shown. */
const MAX_SHOWN = 4096;

interface FramesTabProps {
  readonly record: WireRecord;
  readonly store: RecordStore;
  readonly onselect: (record: WireRecord) => void;
}

/** The frames around messages: SSE events and comments of an HTTP exchange, or the lines of a stdio connection. */
export function FramesTab({ record, store, onselect }: FramesTabProps): JSX.Element {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => showCurrent(list.current), [record]);
  const isStdio =
    ['stdio', 'app'].includes(store.openOf(record.conn)?.protocol ?? '') ||
    record.layer === 'line' ||
    record.layer === 'stderr';
  const frames = isStdio
    ? store.records.filter(({ conn, layer }) => conn === record.conn && (layer === 'line' || layer === 'stderr'))
    : exchangesOf(record, store).flatMap(({ records }) => records.filter(({ layer }) => layer === 'frame'));
  if (frames.length === 0)
    return <p class="empty">{isStdio ? 'No lines were recorded.' : 'There are no server-sent events here.'}</p>;
  const current = frames.findIndex((frame) => holds(frame, record));
  const from = Math.max(0, current - AROUND);
  const to = Math.max(current, 0) + AROUND;
  return (
    <>
      {from > 0 && <p class="soft">{countText(from)} before</p>}
      <ol class="wire-frames" ref={list}>
        {frames.slice(from, to).map((frame) => (
          <li
            key={frame.n}
            class={`wire-frame wire-f-${frame.layer}`}
            aria-current={frame === frames[current] || undefined}
          >
            <div class="wire-frame-head">
              <button type="button" class="quiet" onClick={() => onselect(frame)}>
                {frame.n}
              </button>
              <span>{timeText(frame.t)}</span>
              <span>{DIRECTIONS[frame.dir!]?.join(' ')}</span>
              {frame.layer === 'line' && !messageOf(frame, store) && <span class="badge warn">not a message</span>}
              {frame.note !== undefined && (
                <span class="badge bad">
                  <Visible text={frame.note} />
                </span>
              )}
            </div>
            {frame.layer === 'frame' ? (
              <Fields text={store.head(frame, MAX_SHOWN)} max={frame === frames[current] ? MAX_SHOWN : FEW} />
            ) : (
              <pre>
                <Visible text={store.head(frame, MAX_SHOWN).replace(/\r?\n$/, '')} />
              </pre>
            )}
          </li>
        ))}
      </ol>
      {frames.length > to && <p class="soft">{countText(frames.length - to)} after</p>}
    </>
  );
}

/** Scrolls the list, and nothing else, to the selected frame. */
function showCurrent(list: HTMLElement | null): void {
  const current = list?.querySelector<HTMLElement>('[aria-current]');
  const panel = list?.parentElement;
  if (current && panel) panel.scrollTop = current.offsetTop - panel.offsetTop - panel.clientHeight / 3;
}

/** Whether a frame is the selected record, or has it inside. */
function holds(frame: WireRecord, { conn, dir, range }: WireRecord): boolean {
  if (frame.conn !== conn || frame.dir !== dir || !range) return false;
  return frame.range![0]! <= range[0]! && frame.range!.at(-1)! >= range.at(-1)!;
}

/** The fields of an SSE event as they were written, and comments. */
function Fields({ text, max }: { text: string; max: number }): JSX.Element {
  const lines = text.split(/\r\n|\r|\n/).filter((line) => line !== '');
  return (
    <dl class="wire-sse">
      {lines.slice(0, max).map((line, at) => {
        const colon = line.indexOf(':');
        const name = colon === -1 ? line : line.slice(0, colon);
        return (
          <div key={at}>
            <dt>{name === '' ? 'comment' : <Visible text={name} />}</dt>
            <dd>
              <Visible text={colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')} />
            </dd>
          </div>
        );
      })}
      {lines.length > max && (
        <div>
          <dt />
          <dd class="soft">{countText(lines.length - max)} more lines</dd>
        </div>
      )}
    </dl>
  );
}
