import type { JSX } from 'preact';
import type { HeldMessage } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import { Visible } from '../ui/visible.tsx';

/** How long a message is held, and what ends that. */
export function HeldTimes({ message, now }: { message: HeldMessage; now: number }): JSX.Element {
  const { action, asked, since, until, expires, patience, ended, behind, client } = message;
  if (ended)
    return (
      <p class="soft">
        Held {seconds(ended.at - since)}, until its sender or receiver gave up: <Visible text={ended.reason} />
      </p>
    );
  return (
    <p class="soft held-times">
      <span>Held {seconds(now - since)}</span>
      {until !== undefined && <span>goes on in {seconds(until - now)}</span>}
      {action === 'reorder' && <span>waits for a message that overtakes it</span>}
      {expires !== undefined && (
        <span class={expires - now < 10_000 ? 'warn' : undefined}>
          the time limit of this page’s call ends it in {seconds(expires - now)}
        </span>
      )}
      {patience !== undefined && (
        <span class={now - asked > patience - 10_000 ? 'warn' : undefined}>
          its call runs for {seconds(now - asked)}; <Visible text={client ?? 'the client'} /> gave up after{' '}
          {seconds(patience)} before
        </span>
      )}
      {behind > 0 && <span>{behind} behind it</span>}
    </p>
  );
}

function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
}
