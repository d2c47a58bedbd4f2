import type { JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';
import { save } from './bytes.ts';

/** Longer text, in characters, is shown in part. */
const MAX_SHOWN = 100_000;

interface TextProps {
  readonly text: string;
  /** For the file. */
  readonly name?: string;
}

/** Text of the server, as it came. */
export function Text({ text, name = 'text.txt' }: TextProps): JSX.Element {
  const isLong = text.length > MAX_SHOWN;
  return (
    <>
      <pre class="block" tabIndex={0}>
        <Visible text={isLong ? text.slice(0, MAX_SHOWN) : text} lines />
      </pre>
      {isLong && (
        <p class="toolbar">
          <button type="button" onClick={() => save(new Blob([text]), name)}>
            Save all
          </button>
          <span class="soft">These are the first 100,000 of {text.length.toLocaleString('en')} characters.</span>
        </p>
      )}
    </>
  );
}
