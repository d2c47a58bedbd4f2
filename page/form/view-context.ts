import { useComputed, type ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { FormModel } from './form-model.ts';
import type { Field } from './make-field.ts';

/** The form whose fields are shown. */
export const FormContext = createContext<FormModel | undefined>(undefined);

/** The id of the input or group of a field. */
export function idOf(field: Field): string {
  return `field-${field.id}`;
}

/** What is wrong with a field, once the user has left it or tried to send the form. */
export function useMistake(field: Field): ReadonlySignal<string | undefined> {
  const form = useContext(FormContext)!;
  return useComputed(() => {
    if (field.rawError.value !== undefined) return `This cannot be shown in fields: ${field.rawError.value}`;
    return field.visited.value || form.attempted.value ? form.messages.value.get(field)?.join('; ') : undefined;
  });
}

/**
 * The attributes with which an input describes its field to screen readers, and reports that the user has visited it.
 */
export function useInputProps(field: Field): object {
  const id = idOf(field);
  const mistake = useMistake(field).value;
  return {
    id,
    'aria-describedby': `${id}-type ${id}-about ${id}-mistake`,
    'aria-invalid': mistake !== undefined,
    'aria-required': field.slot === 'required',
    onBlur: () => {
      field.visited.value = true;
    },
  };
}
