import { afterEach, expect, test, vi } from 'vitest';
import type { Progress } from '../client/handlers.ts';
import { scrubber } from '../auth/scrub.ts';
import { scrubWith } from './print-status.ts';
import { ProgressBar } from './progress-bar.ts';

class Screen {
  readonly isTTY: boolean;
  readonly columns: number;
  text = '';

  constructor(isTTY = true, columns = 80) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): void {
    this.text += text;
  }

  /** The lines of the terminal after all that was written, the last one as it is now. */
  get shown(): string[] {
    return this.text.split('\n').map((line) => line.split('\r\u001b[2K').at(-1)!);
  }
}

afterEach(() => void vi.useRealTimers());

const empty = '░'.repeat(24);

test.each<[Progress, string]>([
  [{ progress: 0, total: 10 }, `[${empty}]   0 %  0/10`],
  [{ progress: 5, total: 10, message: 'half' }, `[${'█'.repeat(12)}${'░'.repeat(12)}]  50 %  5/10  half`],
  [{ progress: 12, total: 10 }, `[${'█'.repeat(24)}] 100 %  12/10`],
  [{ progress: 3 }, '… 3'],
  [{ progress: 0.333333, message: 'going on' }, '… 0.33  going on'],
  [{ progress: 1, total: 0 }, '… 1'],
  [{ progress: -1, total: 5 }, '… -1'],
  [{ progress: 1, message: '\u001b[31mred\nlines' }, '… 1  \\u001b[31mred lines'],
])('shows the progress %j', (progress, line) => {
  const screen = new Screen();
  new ProgressBar(screen).show(progress);
  expect(screen.shown).toEqual([line]);
});

test.each([80, 20])('shows no secret on a terminal of %i columns', (columns) => {
  scrubWith(scrubber(['sk-planted-secret']));
  try {
    const screen = new Screen(true, columns);
    const bar = new ProgressBar(screen);
    bar.show({ progress: 1, message: 'with sk-planted-secret' });
    expect(screen.text).toMatch(/with \[redac/);
    bar.status('uses sk-planted-secret');
    expect(screen.text).not.toContain('sk-');
  } finally {
    scrubWith(scrubber([]));
  }
});

test('a line of wide characters stays on one line of the terminal', () => {
  const screen = new Screen(true, 20);
  new ProgressBar(screen).show({ progress: 1, message: '正在处理文件的所有内容' });
  expect(screen.shown).toEqual(['… 1  正在处理文件…']);
});

test('a line is never wider than the terminal', () => {
  const screen = new Screen(true, 20);
  new ProgressBar(screen).show({ progress: 1, message: 'a message that does not fit' });
  expect(screen.shown[0]).toBe('… 1  a message tha…');
});

test('a terminal without a size also shows the bar', () => {
  const screen = new Screen(true, 0);
  new ProgressBar(screen).show({ progress: 1 });
  expect(screen.shown).toEqual(['… 1']);
});

test('is drawn at most every 50 ms, then with the newest progress', () => {
  vi.useFakeTimers();
  const screen = new Screen();
  const bar = new ProgressBar(screen);
  for (let progress = 1; progress <= 1000; progress += 1) bar.show({ progress });
  expect(screen.shown).toEqual(['… 1']);
  vi.advanceTimersByTime(50);
  expect([screen.shown, screen.text.split('…').length]).toEqual([['… 1000'], 3]);
  bar.show({ progress: 1001 });
  bar.clear();
  vi.advanceTimersByTime(50);
  expect(screen.shown).toEqual(['']);
});

test('other output appears above it', () => {
  vi.useFakeTimers();
  const screen = new Screen();
  const bar = new ProgressBar(screen);
  bar.around(() => screen.write('first\n'));
  bar.show({ progress: 1 });
  bar.around(() => screen.write('second\n'));
  vi.advanceTimersByTime(50);
  bar.show({ progress: 2 });
  expect(screen.shown).toEqual(['first', 'second', '… 2']);
  bar.clear();
  bar.around(() => screen.write('third\n'));
  expect(screen.shown).toEqual(['first', 'second', 'third', '']);
});

test('a pipe does not get the bar', () => {
  const screen = new Screen(false);
  const bar = new ProgressBar(screen);
  bar.show({ progress: 1, total: 2 });
  bar.around(() => screen.write('line\n'));
  bar.clear();
  expect(screen.text).toBe('line\n');
});
