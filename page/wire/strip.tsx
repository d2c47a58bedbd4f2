import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Span, SpanState } from '../../src/inspect/spans/span.ts';
import type { RecordStore } from './record-store.ts';
import { layOut, type SpanBar } from './strip-layout.ts';
import type { WireView } from './wire-view.ts';

/** Pixels. */
const LANE = 7;
const LANES = 6;
const HEIGHT = LANES * LANE + 8;
/** The strip is drawn again at most once in this time while records come. Milliseconds. */
const DRAW_MS = 200;
/** The most spans that are drawn: the newest. */
const MAX_SPANS = 3000;

const COLORS: Readonly<Record<SpanState, string>> = {
  open: '--warn',
  input_required: '--warn',
  done: '--accent',
  failed: '--bad',
  cancelled: '--line-strong',
  unanswered: '--bad',
};

interface StripProps {
  readonly store: RecordStore;
  readonly view: WireView;
  readonly theme: string;
}

/** The calls in time. Time without calls takes little space. The grid has the same for the keyboard. */
export function Strip({ store, view, theme }: StripProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const strip = useMemo(() => new StripDrawing(store, view), [store, view]);
  useEffect(() => strip.attach(canvas.current!), [strip]);
  const version = view.version.value;
  const selected = view.selected.value;
  useEffect(() => strip.drawSoon(), [strip, version, selected, theme]);
  return (
    <div class="wire-strip">
      <canvas
        ref={canvas}
        role="img"
        aria-label="Calls in time"
        onClick={({ offsetX, offsetY }) => {
          const span = strip.spanAt(offsetX, offsetY);
          if (span?.records[0] !== undefined) view.reveal(span.records[0]);
        }}
      />
    </div>
  );
}

/** Draws the strip. */
class StripDrawing {
  readonly #store: RecordStore;
  readonly #view: WireView;
  #canvas: HTMLCanvasElement | undefined;
  #bars: readonly SpanBar[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: RecordStore, view: WireView) {
    this.#store = store;
    this.#view = view;
  }

  attach(canvas: HTMLCanvasElement): () => void {
    this.#canvas = canvas;
    const draw = (): void => this.drawSoon();
    const observer = new ResizeObserver(draw);
    observer.observe(canvas.parentElement!);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      observer.disconnect();
      dark.removeEventListener('change', draw);
      clearTimeout(this.#timer);
    };
  }

  drawSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#draw();
    }, DRAW_MS);
  }

  /** The span at a place, or one that is very near. */
  spanAt(x: number, y: number): Span | undefined {
    const lane = Math.floor((y - 4) / LANE);
    const near = this.#bars.filter((bar) => bar.lane === lane && x >= bar.left - 3 && x <= bar.left + bar.width + 3);
    return near.at(-1)?.span;
  }

  #draw(): void {
    const canvas = this.#canvas!;
    const width = canvas.parentElement!.clientWidth;
    if (width === 0) return;
    const scale = devicePixelRatio;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(HEIGHT * scale)];
    const context = canvas.getContext('2d')!;
    context.scale(scale, scale);
    const { records, spans } = this.#store;
    const oldest = records[0]?.n ?? 0;
    const now = records.at(-1)?.t ?? 0;
    const kept = [...spans.all()].slice(-MAX_SPANS).filter((span) => (span.records.at(-1) ?? 0) >= oldest);
    const { bars, breaks } = layOut(kept, now, width, LANES);
    this.#bars = bars;
    const style = getComputedStyle(canvas);
    const color = (name: string): string => {
      // Resolves light-dark(), which a custom property does not.
      canvas.style.color = `var(${name})`;
      return style.color;
    };
    const colors = Object.fromEntries(Object.entries(COLORS).map(([state, name]) => [state, color(name)]));
    context.fillStyle = color('--line');
    for (const at of breaks) context.fillRect(at, 2, 1, HEIGHT - 4);
    const shown = new Set(this.#view.rows.slice(-MAX_SPANS * 10).flatMap(({ spans: own }) => own));
    const selected = new Set(this.#view.selected.value?.spans);
    for (const { span, left, width: length, lane } of bars) {
      context.globalAlpha = shown.has(span) || selected.has(span) ? 1 : 0.25;
      context.fillStyle = this.#store.isProbe(span) ? colors['cancelled']! : colors[span.state]!;
      context.fillRect(left, 4 + lane * LANE, length, LANE - 2);
    }
    context.globalAlpha = 1;
    context.strokeStyle = color('--text');
    context.lineWidth = 1.5;
    for (const bar of bars) {
      if (!selected.has(bar.span)) continue;
      context.strokeRect(bar.left - 1.5, 2.5 + bar.lane * LANE, bar.width + 3, LANE + 1);
    }
  }
}
