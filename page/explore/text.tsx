import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { OTHER_SCRIPTS } from '../ui/text-cost.ts';
import { fitting, Visible } from '../ui/visible.tsx';
import { save } from './bytes.ts';

/** Of a text that needs more characters, those of escapes too, only the first are shown. */
const MAX_SHOWN = 100_000;
/** Where the script changes, a browser may need as long as for this many characters more. */
export const CHANGE = 10;
/** At least this many characters are shown. */
const MIN_SHOWN = 10_000;

/** How often the script changes, in the part that may be shown. */
export function changesOf(text: string): number {
  return text.slice(0, MAX_SHOWN).match(OTHER_SCRIPTS)?.length ?? 0;
}

interface TextProps {
  readonly text: string;
  /** For the file. */
  readonly name?: string;
}

/** Text of the server, as it came. */
export function Text({ text, name = 'text.txt' }: TextProps): JSX.Element {
  const shown = useMemo(() => fitting(text, Math.max(MIN_SHOWN, MAX_SHOWN - CHANGE * changesOf(text)), true), [text]);
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
