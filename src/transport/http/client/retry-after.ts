/**
 * The delay of a `Retry-After` header in milliseconds from `now`: seconds, or a date (RFC 9110, section 10.2.3).
 * Undefined if it is absent or invalid.
 */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
