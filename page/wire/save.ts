import type { Content } from './wire-record.ts';

/** How much is copied at a time, so that the page does not freeze. Bytes. */
const STEP = 4 * 1024 * 1024;

/** All pieces as one. */
async function blobOf(pieces: readonly Content[]): Promise<Blob> {
  const parts: Blob[] = [];
  for (let at = 0; at < pieces.length;) {
    const start = at;
    for (let size = 0; at < pieces.length && size < STEP; at += 1) size += pieces[at]!.length;
    parts.push(new Blob(pieces.slice(start, at)));
    if (at < pieces.length) await new Promise((resolve) => setTimeout(resolve));
  }
  return new Blob(parts);
}

/** Saves bytes as a file. */
export async function save(name: string, pieces: readonly Content[]): Promise<void> {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await blobOf(pieces));
  link.download = name;
  link.click();
  // The download has begun when the event loop turns.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
