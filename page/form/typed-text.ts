import { effect, type ReadonlySignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Shows a text in an input or text area without interfering while the user types: the element is written only
 * if the text was changed elsewhere. So the caret, the selection and the undo history stay.
 */
export function useTypedText<E extends HTMLInputElement | HTMLTextAreaElement>(
  text: ReadonlySignal<string | undefined>,
): RefObject<E> {
  const ref = useRef<E>(null);
  useLayoutEffect(
    () =>
      effect(() => {
        const wanted = text.value ?? '';
        if (ref.current && ref.current.value !== wanted) ref.current.value = wanted;
      }),
    [text],
  );
  return ref;
}
