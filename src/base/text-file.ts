import { readRegularFile } from './regular-file.ts';
import { decodeUtf8 } from './utf8.ts';

/**
 * Reads a regular file of at most `maxBytes` as text in UTF-8, with its byte order mark. Some editors and shells write
 * another encoding. Read as UTF-8, it would silently lose characters.
 *
 * @throws Error as `readRegularFile`, and if the file is not UTF-8.
 */
export function readMarkedUtf8File(file: string, maxBytes: number): string {
  const text = decodeUtf8(readRegularFile(file, maxBytes));
  if (text === undefined) throw new Error('it is not a text in UTF-8');
  return text;
}

/**
 * Reads a regular file of at most `maxBytes` as text in UTF-8, without its byte order mark.
 *
 * @throws Error as `readMarkedUtf8File`.
 */
export function readUtf8File(file: string, maxBytes: number): string {
  return readMarkedUtf8File(file, maxBytes).replace(/^\uFEFF/, '');
}
