/** A value as JSON, cut. A finding quotes only its beginning. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** A header as a finding shows it. */
export function shownHeader(name: string, value: string | undefined): string {
  return value === undefined ? `no ${name}` : `${name}: ${value}`;
}
