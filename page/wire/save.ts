import type { Content } from './wire-record.ts';

/** Saves bytes as a file. */
export function save(name: string, pieces: readonly Content[]): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([...pieces]));
  link.download = name;
  link.click();
  // The download has begun when the event loop turns.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
