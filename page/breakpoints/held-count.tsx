import type { JSX } from 'preact';
import { badgeText } from '../wire/format.ts';
import type { BreakpointView } from './breakpoint-view.ts';

/** How many messages are held. */
export function HeldCount({ view }: { readonly view: BreakpointView }): JSX.Element | null {
  const { waiting } = view;
  if (waiting === 0) return null;
  return (
    <span class="count">
      {badgeText(waiting)}
      <span class="visually-hidden"> held</span>
    </span>
  );
}
