import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { isSecret, type HeaderRow } from './connect-fields.ts';

interface HeaderRowsProps {
  readonly rows: readonly HeaderRow[];
  readonly onchange: (rows: readonly HeaderRow[]) => void;
}

/** The headers of each request. Values that may be secrets are masked until the user asks to see them. */
export function HeaderRows({ rows, onchange }: HeaderRowsProps): JSX.Element {
  const shown = useSignal(false);
  const set = (at: number, part: Partial<HeaderRow>): void => {
    onchange(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  };
  return (
    <fieldset class="headers">
      <legend>Headers</legend>
      {rows.map(({ name, value }, at) => (
        <div class="header-row" key={at}>
          <input
            aria-label={`Name of header ${at + 1}`}
            placeholder="Authorization"
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={({ currentTarget }) => set(at, { name: currentTarget.value })}
          />
          <input
            aria-label={`Value of header ${at + 1}`}
            placeholder="Bearer …"
            type={isSecret(name) && !shown.value ? 'password' : 'text'}
            spellcheck={false}
            autocomplete="off"
            value={value}
            onInput={({ currentTarget }) => set(at, { value: currentTarget.value })}
          />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove header ${at + 1}`}
            onClick={() => onchange(rows.filter((_, index) => index !== at))}
          >
            ×
          </button>
        </div>
      ))}
      <div class="toolbar">
        <button type="button" onClick={() => onchange([...rows, { name: '', value: '' }])}>
          Add header
        </button>
        {rows.length > 0 && (
          <label class="inline">
            <input
              type="checkbox"
              checked={shown.value}
              onChange={({ currentTarget }) => {
                shown.value = currentTarget.checked;
              }}
            />
            Show values
          </label>
        )}
      </div>
    </fieldset>
  );
}
