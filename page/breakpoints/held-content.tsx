import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { HeldText } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import type { Server } from '../server/server.ts';
import { JsonTree } from '../ui/json-tree.tsx';
import { fitting, Visible } from '../ui/visible.tsx';

/** How much of a message is shown. UTF-16 code units. */
const MAX_SHOWN = 20_000;
/** The same with escapes. */
const MAX_ESCAPED = MAX_SHOWN * 6;

/** What a held message says: all of it as a tree, or the beginning of a large one. */
export function HeldContent({ server, id }: { readonly server: Server; readonly id: number }): JSX.Element {
  const content = useSignal<HeldText | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  useEffect(() => {
    server.send('heldMessage', { id, max: MAX_SHOWN }).then(
      (held) => {
        content.value = held;
      },
      (error: unknown) => {
        problem.value = (error as Error).message;
      },
    );
  }, [id]);
  if (problem.value !== undefined)
    return (
      <p class="soft">
        <Visible text={problem.value} />
      </p>
    );
  if (!content.value) return <p class="soft">Reading the message …</p>;
  const { text, length } = content.value;
  if (text.length === length)
    return (
      <div class="block held-content">
        <JsonTree text={text} label="Content" />
      </div>
    );
  return (
    <>
      <p class="soft">
        The first {fitting(text, MAX_ESCAPED, true)} of {length} characters. Edit shows all.
      </p>
      <pre class="block held-content" tabIndex={0} aria-label="Content">
        <Visible text={text} lines max={MAX_ESCAPED} />
      </pre>
    </>
  );
}
