import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { fitting, Visible } from '../ui/visible.tsx';
import { save } from './bytes.ts';

/** Of a text that needs more characters, those of escapes too, only the first are shown. */
const MAX_SHOWN = 100_000;

interface TextProps {
  readonly text: string;
  /** For the file. */
  readonly name?: string;
}

/** Text of the server, as it came. */
export function Text({ text, name = 'text.txt' }: TextProps): JSX.Element {
  const shown = useMemo(() => fitting(text, MAX_SHOWN, true), [text]);
  return (
    <>
      <pre class="block" tabIndex={0}>
        <Visible text={text.slice(0, shown)} lines max={Infinity} />
      </pre>
      {shown < text.length && (
        <p class="toolbar">
          <button type="button" onClick={() => save(new Blob([text]), name)}>
            Save all
          </button>
          <span class="soft">
            These are the first {shown.toLocaleString('en')} of {text.length.toLocaleString('en')} characters.
          </span>
        </p>
      )}
    </>
  );
}
