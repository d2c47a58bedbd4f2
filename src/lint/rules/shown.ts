/** A value as JSON, cut. A finding quotes only its beginning. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
