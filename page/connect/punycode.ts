/** The parameters of Punycode (RFC 3492, section 5). */
const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const FIRST_CODE_POINT = 128;
const MAX_CODE_POINT = 0x10ffff;

/**
 * What no label may have (RFC 5892): control characters, spaces and such. The parser of URLs may accept any ASCII in a
 * host, as that of Node 24 does. Joiners are allowed: some scripts need them.
 */
const NO_LETTERS = /[^\P{C}\u200c\u200d]|\p{Z}/u;

/** A host name in Unicode. Undefined if it has only ASCII letters, or is malformed. */
export function unicodeHost(host: string): string | undefined {
  const labels = host.split('.');
  if (!labels.some((label) => label.startsWith('xn--'))) return undefined;
  const decoded = labels.map((label) => (label.startsWith('xn--') ? decode(label.slice(4)) : label));
  return decoded.some((label) => label === undefined || NO_LETTERS.test(label)) ? undefined : decoded.join('.');
}

/** Decodes one label (RFC 3492, section 6.2). */
function decode(label: string): string | undefined {
  const split = label.lastIndexOf('-');
  const output = Array.from(label.slice(0, Math.max(split, 0)), (letter) => letter.codePointAt(0)!);
  let codePoint = FIRST_CODE_POINT;
  let bias = 72;
  let i = 0;
  for (let at = split + 1; at < label.length;) {
    const before = i;
    let weight = 1;
    for (let k = BASE; ; k += BASE) {
      const digit = digitOf(label.codePointAt(at++));
      if (digit === undefined) return undefined;
      i += digit * weight;
      const threshold = Math.min(Math.max(k - bias, T_MIN), T_MAX);
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const length = output.length + 1;
    bias = adapt(i - before, length, before === 0);
    codePoint += Math.floor(i / length);
    if (codePoint > MAX_CODE_POINT) return undefined;
    i %= length;
    output.splice(i, 0, codePoint);
    i += 1;
  }
  return String.fromCodePoint(...output);
}

function digitOf(code: number | undefined): number | undefined {
  const letter = code === undefined ? '' : String.fromCodePoint(code).toLowerCase();
  if (/^[a-z]$/.test(letter)) return letter.codePointAt(0)! - 97;
  return /^\d$/.test(letter) ? Number(letter) + 26 : undefined;
}

function adapt(difference: number, length: number, isFirst: boolean): number {
  let delta = isFirst ? Math.floor(difference / DAMP) : difference >> 1;
  delta += Math.floor(delta / length);
  let k = 0;
  for (; delta > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) delta = Math.floor(delta / (BASE - T_MIN));
  return k + Math.floor(((BASE - T_MIN + 1) * delta) / (delta + SKEW));
}
