import { cutText } from '../../base/short-text.ts';

/** A value as JSON, cut. A finding quotes only its beginning. */
export function shown(value: unknown): string {
  return cutText(JSON.stringify(value) ?? 'undefined', 100);
}

/** A header as a finding shows it. */
export function shownHeader(name: string, value: string | undefined): string {
  return value === undefined ? `no ${name}` : `${name}: ${value}`;
}
