import type { ComponentChildren, JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';
import { Disclosure } from './disclosure.tsx';
import type { Entry } from './entry-list.ts';
import { JsonView } from './json-view.tsx';

interface EntryHeadProps {
  readonly id: string;
  /** Undefined if no list contains it. */
  readonly entry: Entry | undefined;
  /** Badges with other facts. */
  readonly children?: ComponentChildren;
}

/** What the server says about an entry. */
export function EntryHead({ id, entry, children }: EntryHeadProps): JSX.Element {
  return (
    <header class="entry-head">
      <h2>
        <Visible text={entry?.label ?? id} />
      </h2>
      <p class="toolbar">
        {entry && entry.label !== id && (
          <code>
            <Visible text={id} />
          </code>
        )}
        {children}
      </p>
      {entry && entry.description !== '' && (
        <p class="prose">
          <Visible text={entry.description} lines />
        </p>
      )}
      {entry && <Disclosure title="Definition">{() => <JsonView value={entry.raw} label="Definition" />}</Disclosure>}
    </header>
  );
}
