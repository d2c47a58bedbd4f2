import { signal, type Signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

/** The most rows that are rendered, however high the window is. */
export const MAX_ROWS = 80;
/** Rows that are rendered above and below what is visible. */
const EXTRA = 8;

/** What is visible of a box that scrolls. Pixels. */
export interface RowWindow {
  /** Rounded down to a row. */
  readonly scroll: Signal<number>;
  readonly height: Signal<number>;
  readonly width: Signal<number>;
}

/** Observes a box that scrolls. */
export function useRowWindow(box: { readonly current: HTMLElement | null }, rowHeight: number): RowWindow {
  const [view] = useState(() => ({ scroll: signal(0), height: signal(0), width: signal(0) }));
  useEffect(() => {
    const element = box.current!;
    const onScroll = (): void => {
      view.scroll.value = element.scrollTop - (element.scrollTop % rowHeight);
    };
    const observer = new ResizeObserver(() => {
      view.height.value = element.clientHeight;
      view.width.value = element.clientWidth;
    });
    observer.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, [box, view, rowHeight]);
  return view;
}

/**
 * The rows to be rendered. The end is exclusive.
 *
 * @param position where the box will have scrolled to. Default: where it is.
 */
export function rowsIn(
  { scroll, height }: RowWindow,
  rowHeight: number,
  count: number,
  position = scroll.value,
): readonly [start: number, end: number] {
  const top = Math.floor(position / rowHeight);
  const bottom = Math.ceil((position + height.value) / rowHeight);
  const start = Math.max(0, Math.min(top - EXTRA, count - 1));
  return [start, Math.min(count, bottom + EXTRA, start + MAX_ROWS)];
}
