import type { Wiretap } from '../transport/wiretap.ts';

/** Shows connections to two wiretaps. */
export function bothWiretaps(one: Wiretap, other: Wiretap): Wiretap {
  return {
    open(connection) {
      const taps = [one.open(connection), other.open(connection)];
      return {
        bytes: (stream, chunk) => {
          for (const tap of taps) tap.bytes(stream, chunk);
        },
        close: () => {
          for (const tap of taps) tap.close();
        },
      };
    },
  };
}
