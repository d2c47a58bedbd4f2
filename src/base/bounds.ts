/** @throws RangeError if a bound is negative or not a number. */
export function checkBounds(bounds: Readonly<Record<string, number>>): void {
  for (const [name, bound] of Object.entries(bounds)) {
    if (!(bound >= 0)) throw new RangeError(`${name} must be 0 or more, not ${bound}`);
  }
}
