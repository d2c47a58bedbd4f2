import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from '../ui/copy-button.tsx';
import { Portions, ShowMore } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import { countText, sizeText, timeText } from './format.ts';
import { maskedHead } from './masked-head.ts';
import { exchangesOf, type Exchange } from './related.ts';
import type { RecordStore } from './record-store.ts';
import { sizeOf, type WireRecord } from './wire-record.ts';

/** How many exchanges are shown at first, and more at each wish. A call may have been sent a thousand times. */
const MAX_EXCHANGES = 10;
/** The same for the lines of a head, which may have tens of thousands. */
const MAX_LINES = 200;

/** The HTTP requests and answers of a record and of its call: heads as they were on the wire. */
export function HttpTab({ record, store }: { record: WireRecord; store: RecordStore }): JSX.Element {
  const protocol = store.openOf(record.conn)?.protocol;
  if (protocol === 'stdio') return <p class="empty">This connection uses stdio, not HTTP.</p>;
  if (protocol === 'app') return <p class="empty">Apps and this page exchange messages without HTTP.</p>;
  const exchanges = exchangesOf(record, store);
  if (exchanges.length === 0) return <p class="empty">This record does not belong to an HTTP request.</p>;
  return (
    <Portions key={record.n} items={exchanges} portion={() => MAX_EXCHANGES}>
      {(exchange) => <ExchangeView key={`${exchange.conn} ${exchange.number}`} exchange={exchange} store={store} />}
    </Portions>
  );
}

function ExchangeView({ exchange, store }: { exchange: Exchange; store: RecordStore }): JSX.Element {
  const { conn, number, records } = exchange;
  return (
    <section class="wire-exchange">
      <h3>
        Connection {conn}, request {number}
      </h3>
      {(['c>s', 's>c'] as const).map((dir) => {
        const stream = records.filter((each) => each.dir === dir);
        const heads = stream.filter(({ layer }) => layer === 'head');
        const title = dir === 'c>s' ? 'Request' : 'Response';
        return (
          <div key={dir}>
            <h4>{title}</h4>
            {heads.length === 0 && <p class="soft">Not recorded.</p>}
            {heads.map((head) => (
              <Head key={head.n} head={head} store={store} title={title} />
            ))}
            <Body records={stream} />
          </div>
        );
      })}
    </section>
  );
}

function Head({ head, store, title }: { head: WireRecord; store: RecordStore; title: string }): JSX.Element {
  const [isShown, setShown] = useState(false);
  const shownLines = useSignal(MAX_LINES);
  const whole = store.text(head);
  if (whole === undefined) return <p class="soft">The head is no longer in memory.</p>;
  const masked = maskedHead(whole);
  const text = isShown ? whole : masked;
  // Each line with its end, because an end that is not CRLF is worth seeing.
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return (
    <>
      <p class="toolbar">
        <span class="soft">{timeText(head.t)}</span>
        {head.note !== undefined && (
          <span class="bad">
            {' '}
            <Visible text={head.note} />
          </span>
        )}
        {masked !== whole && (
          <button type="button" class="quiet" onClick={() => setShown(!isShown)}>
            {isShown ? 'Hide secrets' : 'Show secrets'}
          </button>
        )}
        <CopyButton text={text} label={`Copy ${title.toLowerCase()} head`} />
      </p>
      <pre class="wire-http-head" tabIndex={0} aria-label={`${title} head`}>
        {lines.slice(0, shownLines.value).map((line, at) => (
          <Line key={at} line={line} isFirst={at === 0} />
        ))}
      </pre>
      <ShowMore shown={shownLines} more={lines.length - shownLines.value} portion={MAX_LINES}>
        of {countText(lines.length - shownLines.value)} lines
      </ShowMore>
    </>
  );
}

function Line({ line, isFirst }: { line: string; isFirst: boolean }): JSX.Element {
  const content = line.replace(/\r?\n$/, '');
  const end = line.slice(content.length);
  const colon = isFirst ? -1 : content.indexOf(':');
  return (
    <>
      {colon > 0 ? (
        <>
          <span class="wire-http-name">
            <Visible text={content.slice(0, colon)} />
          </span>
          <Visible text={content.slice(colon)} />
        </>
      ) : (
        <span class={isFirst ? 'wire-http-first' : undefined}>
          <Visible text={content} />
        </span>
      )}
      {end !== '\r\n' && <span class="escape">{end === '\n' ? 'LF' : 'cut off'}</span>}
      {'\n'}
    </>
  );
}

function Body({ records }: { records: readonly WireRecord[] }): JSX.Element | null {
  const body = records.find(({ layer }) => layer === 'body');
  const chunks = records.filter(({ layer }) => layer === 'chunk');
  const parts = [
    body && `Body of ${sizeText(sizeOf(body.range!))}`,
    chunks.length > 0 && `${countText(chunks.length)} chunks`,
    !body && chunks.length > 0 && 'the body did not end',
  ].filter(Boolean);
  if (parts.length === 0) return null;
  return (
    <p class="soft">
      {parts.join(', ')}
      {body?.note !== undefined && (
        <span class="bad">
          , <Visible text={body.note} />
        </span>
      )}
    </p>
  );
}
