/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2). */
const K = fractions(64, Math.cbrt);
/** The same of the square roots of the first 8 primes (section 5.3.3). */
const INITIAL = fractions(8, Math.sqrt);
const BLOCK = 64;

/** SHA-256 of bytes that come in pieces. The browser's own needs all at once, which is a long task for many. */
export class Sha256 {
  readonly #state = Uint32Array.from(INITIAL);
  readonly #words = new Uint32Array(64);
  readonly #rest = new Uint8Array(BLOCK);
  #size = 0;

  push(bytes: Uint8Array): void {
    const used = this.#size % BLOCK;
    this.#size += bytes.length;
    let at = 0;
    if (used > 0) {
      at = Math.min(BLOCK - used, bytes.length);
      this.#rest.set(bytes.subarray(0, at), used);
      if (used + at < BLOCK) return;
      this.#block(this.#rest, 0);
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) this.#block(bytes, at);
    this.#rest.set(bytes.subarray(at));
  }

  /** The hash of all pieces, in hexadecimal digits. Called once. */
  digest(): string {
    const bits = this.#size * 8;
    const padding = new Uint8Array(BLOCK - ((this.#size + 8) % BLOCK) + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits % 2 ** 32);
    this.push(padding);
    return Array.from(this.#state, (word) => word.toString(16).padStart(8, '0')).join('');
  }

  #block(bytes: Uint8Array, at: number): void {
    const words = this.#words;
    for (let i = 0, from = at; i < 16; i += 1, from += 4)
      words[i] = (bytes[from]! << 24) | (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
    for (let i = 16; i < 64; i += 1) {
      const [x, y] = [words[i - 15]!, words[i - 2]!];
      const small0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
      const small1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
      words[i] = words[i - 16]! + small0 + words[i - 7]! + small1;
    }
    const state = this.#state;
    let [a, b, c, d] = [state[0]!, state[1]!, state[2]!, state[3]!];
    let [e, f, g, h] = [state[4]!, state[5]!, state[6]!, state[7]!];
    for (let i = 0; i < 64; i += 1) {
      const big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const first = (h + big1 + ((e & f) ^ (~e & g)) + K[i]! + words[i]!) | 0;
      const big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    state[0]! += a;
    state[1]! += b;
    state[2]! += c;
    state[3]! += d;
    state[4]! += e;
    state[5]! += f;
    state[6]! += g;
    state[7]! += h;
  }
}

function rotate(x: number, by: number): number {
  return (x >>> by) | (x << (32 - by));
}

function fractions(count: number, root: (x: number) => number): Uint32Array {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return Uint32Array.from(primes, (prime) => (root(prime) % 1) * 2 ** 32);
}
