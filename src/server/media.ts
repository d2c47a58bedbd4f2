import type { AudioContent, EmbeddedResource, ImageContent } from '../protocol/types.ts';

/** Bytes for `image`, `audio` and `resource`: a `Buffer` or other `Uint8Array`, base64, or the path of a file. */
export type MediaSource = Uint8Array | { readonly base64: string } | { readonly path: string | URL };

/** The largest file that is read. Its base64 fits into a message of the usual 16 MiB. */
const MAX_FILE = 11 * 1024 * 1024;

/**
 * An image for the result of a tool or a prompt. A file is read before the promise resolves.
 *
 * @param mimeType such as `image/png`.
 * @throws TypeError if the source is none of the above. Error if the file cannot be read, is not a regular file, or has more than 11 MiB.
 */
export async function image(source: MediaSource, mimeType: string): Promise<ImageContent> {
  return { type: 'image', data: await base64Of('image', source), mimeType };
}

/** Sound for the result of a tool or a prompt. @param mimeType such as `audio/wav`. @throws the errors of `image`. */
export async function audio(source: MediaSource, mimeType: string): Promise<AudioContent> {
  return { type: 'audio', data: await base64Of('audio', source), mimeType };
}

/**
 * A resource with its contents, for the result of a tool or a prompt.
 *
 * @param uri names the resource for the caller. It need not be registered.
 * @param source a string is the text itself.
 * @throws the errors of `image`.
 */
export async function resource(
  uri: string,
  source: string | MediaSource,
  mimeType?: string,
): Promise<EmbeddedResource> {
  const head = mimeType === undefined ? { uri } : { uri, mimeType };
  if (typeof source === 'string') return { type: 'resource', resource: { ...head, text: source } };
  return { type: 'resource', resource: { ...head, blob: await base64Of('resource', source) } };
}

async function base64Of(maker: string, source: MediaSource): Promise<string> {
  if (source instanceof Uint8Array) return encoded(source);
  if (typeof source === 'object' && source !== null) {
    if ('base64' in source && typeof source.base64 === 'string') return source.base64;
    if ('path' in source) return encoded(await contents(source.path));
  }
  throw new TypeError(`${maker}() needs bytes (a Buffer or Uint8Array), { base64 } or { path }`);
}

async function contents(path: string | URL): Promise<Uint8Array> {
  const { open } = await import('node:fs/promises');
  const file = await open(path);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error('it is not a regular file');
    const { size } = stat;
    if (size > MAX_FILE) throw new Error(`the file has ${size} bytes, and the limit is ${MAX_FILE}`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function encoded(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
