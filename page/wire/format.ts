/** How figures are shown. */

const numbers = new Intl.NumberFormat('en');

export function countText(count: number): string {
  return numbers.format(count);
}

/** The same where there is room for two digits. */
export function badgeText(count: number): string {
  return count > 99 ? '99+' : String(count);
}

/** Microseconds since the capture began, as minutes and seconds. */
export function timeText(t: number): string {
  const seconds = t / 1e6;
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${(seconds - minutes * 60).toFixed(3).padStart(6, '0')}`;
}

/** Microseconds. */
export function durationText(duration: number): string {
  if (duration < 1000) return `${duration} µs`;
  if (duration < 1e6) return `${(duration / 1000).toPrecision(3)} ms`.replace('1.00e+3', '1000');
  return `${(duration / 1e6).toFixed(2)} s`;
}

/** Bytes. */
export function sizeText(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 ** 2) return `${(size / 1024).toFixed(1)} KiB`;
  return `${(size / 1024 ** 2).toFixed(1)} MiB`;
}

type Directions = Readonly<Record<string, readonly [arrow: string, words: string]>>;

/** The direction of a stream, as an arrow and as words. */
export const DIRECTIONS: Directions = {
  'c>s': ['→', 'to server'],
  's>c': ['←', 'to client'],
  stderr: ['!', 'stderr'],
};

/** The same between an app and this page. */
export const APP_DIRECTIONS: Directions = { 'c>s': ['→', 'from the app'], 's>c': ['←', 'to the app'] };
