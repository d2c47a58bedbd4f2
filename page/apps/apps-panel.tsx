import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Explorer } from '../explore/explorer.ts';
import { toast } from '../ui/toast.tsx';
import type { AppsScreen } from './apps-screen.tsx';

const loaded = signal<typeof AppsScreen | undefined>(undefined);

/** The screen Apps. Its code is loaded when it is first shown. */
export function AppsPanel({ explorer, visible }: { explorer: Explorer; visible: boolean }): JSX.Element {
  useEffect(() => {
    if (!visible || loaded.peek()) return;
    import('./apps-screen.tsx').then(
      (module) => {
        loaded.value = module.AppsScreen;
      },
      (error: unknown) => toast((error as Error).message, 'bad'),
    );
  }, [visible]);
  const Screen = loaded.value;
  return Screen ? <Screen explorer={explorer} /> : <p class="empty">Loading …</p>;
}
