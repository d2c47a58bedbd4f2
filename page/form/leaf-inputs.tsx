import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { beginning } from '../ui/visible.tsx';
import type { ChoiceField, NumberField, TextField } from './leaf-fields.ts';
import type { Field } from './make-field.ts';
import { useTypedText } from './typed-text.ts';
import { useInputProps } from './view-context.ts';

/** Turns off spelling and other help for prose. */
const PLAIN = { autocomplete: 'off', autocapitalize: 'off', spellcheck: false } as const;
const DATE = /^\d{4}-\d\d-\d\d$/;
/** The longest label of an option. */
const MAX_LABEL = 200;

interface InputProps<F> {
  readonly field: F;
  /** The name, if no label belongs to the input. */
  readonly label: string | undefined;
}

/**
 * Inputs for e-mail addresses and URLs remove blanks, so the text would differ from what was typed. So these are text
 * inputs with a suitable keyboard.
 */
export function TextInput({ field, label }: InputProps<TextField>): JSX.Element {
  const { format, long } = field.shape;
  // The kind of the input does not change while it is on the page.
  const [kind] = useState(() => {
    const text = field.text.peek();
    if (long || text.includes('\n')) return 'area';
    return format === 'date' && (text === '' || DATE.test(text)) ? 'date' : 'text';
  });
  const area = useTypedText<HTMLTextAreaElement>(field.text);
  const input = useTypedText<HTMLInputElement>(field.text);
  const props = { ...PLAIN, ...useInputProps(field), 'aria-label': label };
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }): void =>
    field.type(currentTarget.value, currentTarget.validity.badInput);
  if (kind === 'area') return <textarea {...props} ref={area} rows={1} onInput={onInput} />;
  // An incomplete date causes no input event.
  const onKeyUp = kind === 'date' ? onInput : undefined;
  const keyboard = format === 'email' ? 'email' : format === 'uri' ? 'url' : undefined;
  return <input {...props} ref={input} type={kind} inputMode={keyboard} onInput={onInput} onKeyUp={onKeyUp} />;
}

/** A text input, because a number input would round numbers and hide text that is not a number. */
export function NumberInput({ field, label }: InputProps<NumberField>): JSX.Element {
  const ref = useTypedText<HTMLInputElement>(field.text);
  return (
    <input
      {...PLAIN}
      {...useInputProps(field)}
      aria-label={label}
      ref={ref}
      type="text"
      inputMode="decimal"
      onInput={({ currentTarget }) => field.type(currentTarget.value)}
    />
  );
}

export function ChoiceInput({ field, label }: InputProps<ChoiceField>): JSX.Element {
  return (
    <select
      {...useInputProps(field)}
      aria-label={label}
      value={field.chosen.value}
      onChange={({ currentTarget }) => field.choose(Number(currentTarget.value))}
    >
      <option value={-1}>{field.slot === 'optional' ? '(not sent)' : '(choose)'}</option>
      {field.shape.options.map((option, at) => (
        <option key={option.json} value={at}>
          {beginning(option.label, MAX_LABEL)}
        </option>
      ))}
    </select>
  );
}

/** The JSON text in place of the fields. */
export function RawInput({ field, label }: InputProps<Field>): JSX.Element {
  const ref = useTypedText<HTMLTextAreaElement>(field.raw);
  return (
    <textarea
      {...PLAIN}
      {...useInputProps(field)}
      class="raw"
      aria-label={label}
      ref={ref}
      rows={field.kind === 'json' && field.parent ? 1 : 3}
      onInput={({ currentTarget }) => field.typeRaw(currentTarget.value)}
    />
  );
}
