import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Visible, visible } from '../ui/visible.tsx';

/** How long after the last key the server is asked for suggestions. Milliseconds. */
const QUIET_MS = 200;

interface ArgumentFieldProps {
  readonly label: string;
  readonly description: string;
  readonly required: boolean;
  readonly value: Signal<string>;
  /** Undefined if the server has no completion. */
  readonly complete: ((value: string) => Promise<readonly string[]>) | undefined;
  /** Whether to say that a value is missing. */
  readonly attempted: boolean;
}

/**
 * An argument that is a string, with the values that the server suggests: a combobox that follows the ARIA Authoring
 * Practices.
 */
export function ArgumentField(props: ArgumentFieldProps): JSX.Element {
  const { label, description, required, value, complete, attempted } = props;
  const id = useId();
  const options = useSignal<readonly string[]>([]);
  const open = useSignal(false);
  const active = useSignal(-1);
  const asked = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>();
  useEffect(() => () => clearTimeout(timer.current), []);
  const ask = (): void => {
    if (!complete) return;
    clearTimeout(timer.current);
    const number = (asked.current += 1);
    timer.current = setTimeout(() => {
      void complete(value.peek()).then((values) => {
        // Only the newest request counts, and only while the field has the focus.
        if (number !== asked.current || document.activeElement?.id !== id) return;
        options.value = values;
        active.value = -1;
        open.value = values.length > 0;
      });
    }, QUIET_MS);
  };
  const take = (option: string): void => {
    value.value = option;
    asked.current += 1;
    open.value = false;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key } = event;
    if (key === 'Escape' && open.value) {
      event.preventDefault();
      open.value = false;
    } else if ((key === 'ArrowDown' || key === 'ArrowUp') && complete) {
      event.preventDefault();
      if (!open.value) return ask();
      const { length } = options.value;
      active.value = (active.value + (key === 'ArrowDown' ? 1 : active.value < 0 ? length : length - 1)) % length;
      document.getElementById(`${id}-${active.value}`)?.scrollIntoView({ block: 'nearest' });
    } else if (key === 'Enter' && open.value && active.value >= 0) {
      event.preventDefault();
      take(options.value[active.value]!);
    }
  };
  const isMissing = required && attempted && value.value === '';
  return (
    <div class="argument">
      <label for={id}>
        <span class="field-name">
          <Visible text={label} max={200} />
        </span>
        {required ? <span class="bad"> required</span> : <span class="soft"> optional</span>}
      </label>
      {description !== '' && (
        <p class="field-about soft" id={`${id}-about`}>
          <Visible text={description} lines max={1000} />
        </p>
      )}
      <div class="combobox">
        <input
          id={id}
          autocomplete="off"
          spellcheck={false}
          value={value.value}
          aria-describedby={description === '' ? undefined : `${id}-about`}
          aria-invalid={isMissing}
          {...(complete && {
            role: 'combobox',
            'aria-autocomplete': 'list',
            'aria-expanded': open.value,
            'aria-controls': `${id}-list`,
            'aria-activedescendant': open.value && active.value >= 0 ? `${id}-${active.value}` : undefined,
          })}
          onInput={({ currentTarget }) => {
            value.value = currentTarget.value;
            ask();
          }}
          onFocus={ask}
          onBlur={() => {
            open.value = false;
          }}
          onKeyDown={onKeyDown}
        />
        {complete && (
          <ul role="listbox" id={`${id}-list`} aria-label={visible(`Values for ${label}`)} hidden={!open.value}>
            {options.value.map((option, at) => (
              <li
                role="option"
                id={`${id}-${at}`}
                key={option}
                aria-selected={at === active.value}
                // The field keeps the focus.
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => take(option)}
              >
                <Visible text={option} max={200} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {isMissing && <p class="bad">This value is required.</p>}
    </div>
  );
}
