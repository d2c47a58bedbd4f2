import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  /** Called when the user closes it, for example with Escape. */
  readonly onclose: () => void;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A modal dialog. It is open as long as it is rendered. */
export function Dialog({ title, onclose, class: name, children }: DialogProps): JSX.Element {
  const heading = useId();
  const ref = useModal();
  return (
    <dialog ref={ref} class={name} aria-labelledby={heading} onClose={onclose}>
      <div class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="quiet" onClick={() => ref.current!.close()}>
          Close
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

/** Opens a dialog over the page when it is rendered. The browser keeps the focus inside, and gives it back. */
export function useModal(): { current: HTMLDialogElement | null } {
  const ref = useRef<HTMLDialogElement>(null);
  // Before the next key, which an effect after drawing could miss.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return ref;
}
