const MASK = (1n << 64n) - 1n;

/**
 * Different numbers with the same hash: V8 hashes numbers without a seed, so anybody can find them. Its function
 * (`ComputeLongHash`, base/hashing) is a chain of steps that can each be inverted, for any upper bits with the same
 * lower ones.
 */
export function collidingNumbers(length: number): number[] {
  const view = new DataView(new ArrayBuffer(8));
  const found: number[] = [];
  for (let upper = 1n; found.length < length; upper += 1n) {
    view.setBigUint64(0, unhashed((upper << 30n) & MASK));
    const number = view.getFloat64(0);
    if (Number.isFinite(number) && !Number.isInteger(number)) found.push(number);
  }
  return found;
}

function unhashed(hash: bigint): bigint {
  let key = unshifted(hash, 22n);
  key = (key * inverse(65n)) & MASK;
  key = unshifted(key, 11n);
  key = (key * inverse(21n)) & MASK;
  key = unshifted(key, 31n);
  return ((key + 1n) * inverse((1n << 18n) - 1n)) & MASK;
}

/** Inverts `x ^ (x >> shift)`. */
function unshifted(value: bigint, shift: bigint): bigint {
  let key = value;
  for (let done = shift; done < 64n; done += shift) key = value ^ (key >> shift);
  return key;
}

/** The inverse of an odd number modulo 2^64. */
function inverse(odd: bigint): bigint {
  let found = 1n;
  for (let round = 0; round < 7; round += 1) found = (found * (2n - odd * found)) & MASK;
  return found & MASK;
}
