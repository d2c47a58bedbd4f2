import type { JSX } from 'preact';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import { sizeText } from '../wire/format.ts';
import { Calls } from './call-view.tsx';
import { EntryHead } from './entry-head.tsx';
import { textOf } from './entry-list.ts';
import type { DetailProps } from './tool.tsx';

/** A resource: its contents, and its subscription. */
export function ResourceView({ explorer, session, id, entry }: DetailProps): JSX.Element {
  const { mimeType, size } = entry?.raw ?? {};
  return (
    <>
      <EntryHead id={id} entry={entry}>
        {typeof mimeType === 'string' && (
          <span class="badge">
            <Visible text={mimeType} />
          </span>
        )}
        {typeof size === 'number' && <span class="badge">{sizeText(size)}</span>}
      </EntryHead>
      <UpdateNote explorer={explorer} session={session} id={id} />
      <p class="toolbar">
        <button type="button" class="primary" onClick={() => session.call(id, 'resources/read', { uri: id })}>
          Read
        </button>
        <SubscribeButton explorer={explorer} uri={id} />
      </p>
      <Calls explorer={explorer} session={session} entry={id} name={textOf(entry?.raw['name']) ?? id} />
    </>
  );
}

/** Says that the resource changed after it was read. */
function UpdateNote({ explorer, session, id }: Omit<DetailProps, 'entry'>): JSX.Element {
  const changes = explorer.notices.updates.value.get(id);
  const [read] = session.calls(id).value;
  return (
    <div role="status">
      {changes && read && changes.seen > read.started && (
        <p class="notice warn toolbar">
          <span>The resource changed at {changes.time.toLocaleTimeString()}, after it was read.</span>
          <button type="button" onClick={() => session.call(id, 'resources/read', { uri: id })}>
            Read again
          </button>
        </p>
      )}
    </div>
  );
}

/** Subscribes to the changes of a resource, or unsubscribes. */
export function SubscribeButton({ explorer, uri }: { explorer: DetailProps['explorer']; uri: string }): JSX.Element {
  const isSubscribed = explorer.state.value.subscriptions.includes(uri);
  const onClick = (): void => {
    explorer.server
      .send(isSubscribed ? 'unsubscribe' : 'subscribe', { uri })
      .catch((error: unknown) => toast((error as Error).message, 'bad'));
  };
  return (
    <button type="button" aria-pressed={isSubscribed} onClick={onClick}>
      {isSubscribed ? 'Subscribed' : 'Subscribe'}
    </button>
  );
}
