/** Whether two sets have the same in them. */
export function isSame<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): boolean {
  if (one.size !== other.size) return false;
  for (const each of one) if (!other.has(each)) return false;
  return true;
}
