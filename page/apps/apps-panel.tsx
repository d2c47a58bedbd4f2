import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Explorer } from '../explore/explorer.ts';
import { lazy } from '../ui/lazy.tsx';

const AppsScreen = lazy(async () => (await import('./apps-screen.tsx')).AppsScreen);

/** The screen Apps. Its code is loaded when it is first shown. */
export function AppsPanel({ explorer, visible }: { explorer: Explorer; visible: boolean }): JSX.Element | null {
  const isSeen = useRef(false);
  isSeen.current ||= visible;
  return isSeen.current ? <AppsScreen explorer={explorer} /> : null;
}
