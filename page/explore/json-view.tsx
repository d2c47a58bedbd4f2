import type { JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';

/** A JSON value. */
export function JsonView({ value }: { value: unknown }): JSX.Element {
  return (
    <pre class="block" tabIndex={0}>
      <Visible text={JSON.stringify(value, undefined, 2) ?? ''} lines />
    </pre>
  );
}
