/** The key that a part of a JSON pointer stands for (RFC 6901, section 4). */
export function pointerKey(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
