import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Visible } from './visible.tsx';

interface Toast {
  readonly text: string;
  readonly kind: 'info' | 'bad';
}

const MAX_TOASTS = 4;
const toasts = signal<readonly Toast[]>([]);

/**
 * Shows a message that needs no answer. It stays until the user closes it or the next one comes, because reading takes
 * different users different times. Problems stay together with those that follow.
 */
export function toast(text: string, kind: Toast['kind'] = 'info'): void {
  toasts.value = [...toasts.value.filter((each) => each.kind === 'bad'), { text, kind }].slice(-MAX_TOASTS);
}

/** Where toasts are shown. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((each) => (
        <div class={`toast ${each.kind}`} key={each}>
          <span>
            <Visible text={each.text} />
          </span>
          <button
            type="button"
            class="quiet"
            aria-label="Dismiss"
            onClick={() => {
              toasts.value = toasts.value.filter((other) => other !== each);
            }}
          >
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
