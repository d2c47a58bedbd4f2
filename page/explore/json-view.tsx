import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { JsonTree } from '../ui/json-tree.tsx';

interface JsonViewProps {
  readonly value: unknown;
  /** The text that the value was read from, if it is known. */
  readonly text?: string | undefined;
  /** The name of the tree for screen readers. */
  readonly label: string;
}

/** A JSON value as a tree. */
export function JsonView({ value, text, label }: JsonViewProps): JSX.Element {
  const shown = useMemo(() => text ?? JSON.stringify(value) ?? 'null', [text, value]);
  return (
    <div class="block">
      <JsonTree text={shown} label={label} />
    </div>
  );
}
