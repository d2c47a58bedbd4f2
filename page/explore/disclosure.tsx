import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';

/** Content that is rendered only when the user opens it. */
export function Disclosure({ title, children }: { title: string; children: () => ComponentChildren }): JSX.Element {
  const open = useSignal(false);
  return (
    <details
      onToggle={({ currentTarget }) => {
        open.value = currentTarget.open;
      }}
    >
      <summary>{title}</summary>
      {open.value && children()}
    </details>
  );
}
