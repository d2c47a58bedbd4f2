import type { JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';

/** A difference, and where it is. */
interface DifferenceProps {
  readonly place: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** How much of a value is shown, in UTF-16 code units. */
const MAX_TEXT = 500;

/** A table of differences. */
export function Differences({ list, label }: { list: readonly DifferenceProps[]; label: string }): JSX.Element {
  return (
    <div class="compare-table">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">First</th>
            <th scope="col">Second</th>
          </tr>
        </thead>
        <tbody>
          {list.map(({ place, before, after }, at) => (
            <tr key={at}>
              <th scope="row">
                <code>
                  <Visible text={place === '' ? 'all of it' : place} />
                </code>
              </th>
              <td>
                <Value value={before} />
              </td>
              <td>
                <Value value={after} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value({ value }: { value: unknown }): JSX.Element {
  if (value === undefined) return <span class="soft">nothing</span>;
  const text = JSON.stringify(value);
  return (
    <code>
      <Visible text={text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text} />
    </code>
  );
}
