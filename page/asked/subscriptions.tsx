import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Explorer } from '../explore/explorer.ts';
import { SubscribeButton } from '../explore/resource.tsx';
import { toast } from '../ui/toast.tsx';
import { ShowMore } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import type { Changes } from './notices.ts';

/** How many resources are shown at first, and more at each wish. */
const MAX_SHOWN = 50;

/** The subscribed resources, and the changes that the server reported: the newest first. */
export function Subscriptions({ explorer }: { explorer: Explorer }): JSX.Element {
  const { subscriptions } = explorer.state.value;
  const updates = explorer.notices.updates.value;
  const lists = [...explorer.notices.lists.value];
  // A server may report changes of any number of resources.
  const uris = [...new Set([...subscriptions, ...[...updates.keys()].toReversed()])];
  const shown = useSignal(MAX_SHOWN);
  const more = uris.length - shown.value;
  const session = explorer.session.value;
  return (
    <>
      <SubscribeForm explorer={explorer} />
      {uris.length + lists.length === 0 && <p class="empty">No subscriptions, and no changes.</p>}
      {uris.length > 0 && (
        <ul class="questions" aria-label="Resources">
          {uris.slice(0, shown.value).map((uri) => (
            <li class="card" key={uri}>
              <code>
                <Visible text={uri} />
              </code>
              <ChangeNote explorer={explorer} changes={updates.get(uri)} />
              {session && (
                <p class="toolbar">
                  <SubscribeButton explorer={explorer} uri={uri} />
                  <button
                    type="button"
                    onClick={() => {
                      session.open('Resources', uri);
                      session.call(uri, 'resources/read', { uri });
                      explorer.show('Explore');
                    }}
                  >
                    Read
                  </button>
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
      <ShowMore shown={shown} more={more} portion={MAX_SHOWN}>
        of {more}
      </ShowMore>
      {lists.length > 0 && (
        <ul class="questions" aria-label="Lists">
          {lists.map(([method, changes]) => (
            <li class="card" key={method}>
              <code>{method}</code>
              <ChangeNote explorer={explorer} changes={changes} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** When something changed, and how often. */
export function ChangeNote({ explorer, changes }: { explorer: Explorer; changes: Changes | undefined }): JSX.Element {
  if (!changes) return <p class="soft">No change yet.</p>;
  const { count, time, n } = changes;
  return (
    <p class="toolbar">
      <span class="badge warn">Changed</span>
      <span>
        {time.toLocaleTimeString()}
        {count > 1 && `, ${count} times`}
      </span>
      <button
        type="button"
        class="quiet"
        aria-label={`Show record ${n} in Wire`}
        onClick={() => explorer.showRecord(n)}
      >
        Wire
      </button>
    </p>
  );
}

/** Subscribes to a resource by its URI, also if no list contains it. */
function SubscribeForm({ explorer }: { explorer: Explorer }): JSX.Element {
  const uri = useSignal('');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    explorer.server.send('subscribe', { uri: uri.value }).then(
      () => {
        uri.value = '';
      },
      (error: unknown) => toast((error as Error).message, 'bad'),
    );
  };
  return (
    <form class="toolbar" onSubmit={onSubmit}>
      <input
        aria-label="URI of a resource"
        placeholder="URI of a resource"
        spellcheck={false}
        value={uri.value}
        onInput={({ currentTarget }) => {
          uri.value = currentTarget.value;
        }}
      />
      <button type="submit" disabled={uri.value === ''}>
        Subscribe
      </button>
    </form>
  );
}
