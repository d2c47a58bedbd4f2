import type { JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';
import { FieldBody, Mistake, RawSwitch } from './field-view.tsx';
import { pathText } from './field.ts';
import type { FormModel } from './form-model.ts';
import { RawInput } from './leaf-inputs.tsx';
import type { Field } from './make-field.ts';
import { FormContext, idOf } from './view-context.ts';

interface SchemaFormProps {
  readonly form: FormModel;
  /** What the value is: `Arguments`. */
  readonly label: string;
}

/** The fields of a form. The surrounding `<form>` has the button, and sends what `form.submit()` returns. */
export function SchemaForm({ form, label }: SchemaFormProps): JSX.Element {
  const { root } = form;
  const isRaw = root.raw.value !== undefined;
  const isGroup = root.kind === 'object' || root.kind === 'list';
  return (
    <FormContext.Provider value={form}>
      <div class="schema-form" role="group" aria-label={label} key={root.id}>
        <div class="field-head">
          <span class="field-name">{label}</span>
          <span class="field-tools">
            <RawSwitch field={root} name={label} />
          </span>
        </div>
        {isRaw ? (
          <RawInput field={root} label={`${label} as JSON`} />
        ) : (
          <div class="field-root" id={isGroup ? idOf(root) : undefined} tabIndex={-1}>
            <FieldBody field={root} label={label} name={label} />
          </div>
        )}
        <Mistake field={root} />
        {form.unchecked !== undefined && (
          <p class="notice warn">
            Values are not checked: <Visible text={form.unchecked} />
          </p>
        )}
      </div>
    </FormContext.Provider>
  );
}

interface FormMistakesProps {
  readonly form: FormModel;
  /** What the button says: `Call anyway`. */
  readonly label: string;
  /** Sends a value that the schema does not allow. */
  readonly onSend: (json: string) => void;
}

/**
 * After an attempt to send: the mistakes, each with a button that goes to its field, and a button that sends anyway.
 */
export function FormMistakes({ form, label, onSend }: FormMistakesProps): JSX.Element {
  const messages = form.attempted.value ? [...form.messages.value] : [];
  const json = form.json.value;
  return (
    <div role="alert">
      {messages.length > 0 && (
        <div class="notice bad form-mistakes">
          <p>{json === undefined ? 'Correct this before you send:' : 'This does not match the schema:'}</p>
          <ul>
            {messages.slice(0, MAX_SHOWN).map(([field, texts]) => (
              <li key={field.id}>
                <button type="button" class="quiet" onClick={() => focus(field)}>
                  <Visible text={`${pathText(field.path)} ${texts.join('; ')}`.slice(0, MAX_TEXT)} />
                </button>
              </li>
            ))}
          </ul>
          {messages.length > MAX_SHOWN && <p>And {messages.length - MAX_SHOWN} more.</p>}
          {json !== undefined && (
            <button
              type="button"
              onClick={() => {
                const text = form.submit(true);
                if (text !== undefined) onSend(text);
              }}
            >
              {label}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

const MAX_SHOWN = 20;
const MAX_TEXT = 500;

/** Moves the focus to a field, or to the innermost visible field around it. */
function focus(field: Field): void {
  for (let one: Field | undefined = field; one; one = one.parent) {
    const element = document.getElementById(idOf(one));
    if (!element) continue;
    element.focus();
    return;
  }
}
