import type { Progress } from '../client/handlers.ts';
import { shown } from './print-status.ts';
import { cut, oneLine } from './screen.ts';

/** The terminal on which a bar is drawn. */
export interface BarScreen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const BAR = 24;
/** The shortest time between two drawings, in milliseconds. A server may report progress thousands of times in it. */
const INTERVAL = 50;
/** Goes to the beginning of the line and clears it. */
const CLEAR = '\r\u001b[2K';

/** A progress bar on the last line of a terminal. Without a terminal it draws nothing. */
export class ProgressBar {
  readonly #screen: BarScreen;
  #line: string | undefined;
  #drawnAt = -INTERVAL;
  /** Draws the newest line later. */
  #later: ReturnType<typeof setTimeout> | undefined;

  constructor(screen: BarScreen) {
    this.#screen = screen;
  }

  show(progress: Progress): void {
    this.#draw(barOf(progress));
  }

  /** Shows a status without numbers. */
  status(text: string): void {
    this.#draw(`… ${oneLine(text)}`);
  }

  /** Removes the bar while something else is written, then draws it again. */
  around(write: () => void): void {
    if (this.#line !== undefined) this.#screen.write(CLEAR);
    write();
    if (this.#line !== undefined) this.#screen.write(this.#line);
  }

  /** Removes the bar. */
  clear(): void {
    if (this.#line !== undefined) this.#screen.write(CLEAR);
    this.#line = undefined;
    clearTimeout(this.#later);
    this.#later = undefined;
  }

  #draw(line: string): void {
    if (this.#screen.isTTY !== true) return;
    // Before the cut, which could leave a part of a secret. A terminal without a size reports 0.
    this.#line = cut(shown(line), (this.#screen.columns || 80) - 1);
    const wait = this.#drawnAt + INTERVAL - performance.now();
    if (wait <= 0) this.#write();
    else this.#later ??= setTimeout(() => this.#write(), wait).unref();
  }

  #write(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#drawnAt = performance.now();
    this.#screen.write(`${CLEAR}${this.#line}`);
  }
}

function barOf({ progress, total, message }: Progress): string {
  const suffix = message === undefined ? '' : `  ${oneLine(message)}`;
  // With an invalid total, or progress beyond it, there is no percentage.
  if (typeof total !== 'number' || !(total > 0) || !(progress >= 0)) return `… ${amount(progress)}${suffix}`;
  const part = Math.min(1, progress / total);
  const full = Math.round(part * BAR);
  const percent = `${Math.floor(part * 100)} %`.padStart(5);
  return `[${'█'.repeat(full)}${'░'.repeat(BAR - full)}] ${percent}  ${amount(progress)}/${amount(total)}${suffix}`;
}

function amount(value: number): string {
  return String(Math.round(value * 100) / 100);
}
