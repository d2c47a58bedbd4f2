import { bytesOfBinary } from '../../src/base/bytes.browser.ts';

/** The bytes of base64 text. Undefined if the text is not base64. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return bytesOfBinary(atob(base64.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return undefined;
  }
}

/**
 * The first bytes of the kinds of images that are shown. An SVG or HTML document could run scripts, whatever its type
 * says.
 */
const RASTERS: readonly (readonly [type: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
];

/** The type of an image, by its bytes. Undefined if it is not PNG, JPEG, GIF or WebP. */
export function rasterType(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  return RASTERS.find(([, pattern]) => pattern.test(start))?.[0];
}

/** 1530 milliseconds are "1.53 s". */
export function durationText(duration: number): string {
  if (duration < 1000) return `${Math.round(duration)} ms`;
  return duration < 60_000
    ? `${(duration / 1000).toFixed(2)} s`
    : `${Math.floor(duration / 60_000)} min ${Math.round((duration % 60_000) / 1000)} s`;
}

/** Lets the user save bytes as a file. The name comes from a server: only its last part is used. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName(name);
  link.click();
  // By then, the browser has begun to read the blob.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A file name that is safe on every system. */
export function fileName(name: string): string {
  const last = name.split(/[/\\?#]/).findLast((part) => part !== '') ?? '';
  return (
    last
      .replaceAll(/[^\w.@-]+/g, '_')
      .replace(/^[._]+/, '')
      .slice(0, 100) || 'result'
  );
}
