import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { lazy } from '../ui/lazy.tsx';
import type { BreakpointView } from './breakpoint-view.ts';

const BreakpointsScreen = lazy(async () => (await import('./breakpoints.tsx')).BreakpointsScreen);

/** The screen Breakpoints. Its code is loaded when it is first shown. */
export function BreakpointsPanel(props: { view: BreakpointView; visible: boolean }): JSX.Element | null {
  const isSeen = useRef(false);
  isSeen.current ||= props.visible;
  return isSeen.current ? <BreakpointsScreen {...props} /> : null;
}
