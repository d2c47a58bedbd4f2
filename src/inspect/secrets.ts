/** Header fields and query parameters whose values are masked in files: what is sent to prove who one is. */
const SECRET_NAME =
  /^(proxy-)?authorization$|cookie|token|secret|password|assertion|api[-_]?key|^(code|sig|signature)$/i;
/** A character that separates the parameters of a request target, or text between such characters. */
const PARTS = /[?&=\s]|[^?&=\s]+/g;

/** The kinds of secrets, for people. */
export const SECRETS: readonly string[] = ['authorization', 'cookies', 'tokens', 'API keys', 'passwords and secrets'];

/** The start and the end of a text in a piece of a line. */
type Place = [start: number, end: number];

/** Whether the value of a header or a parameter is secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/**
 * Finds the values of secret parameters in a line, such as the first line of a request. It looks at each character once: a hostile line
 * may have only question marks, or come in pieces of one byte.
 */
export class SecretParameters {
  /** What has come of the name of a parameter. Undefined before the first. */
  #name: string | undefined;
  /** Whether the value of a parameter has begun, and whether it is secret. */
  #value: 'none' | 'plain' | 'secret' = 'none';

  /** The places of secret values in the next piece of the line. */
  next(piece: string): Place[] {
    const places: Place[] = [];
    if (this.#name === undefined && !/[?&]/.test(piece)) return places;
    for (const { 0: part, index } of piece.matchAll(PARTS)) {
      if (part === '&' || part.trim() === '') [this.#name, this.#value] = [part === '&' ? '' : undefined, 'none'];
      else if (this.#value === 'secret') {
        const last = places.at(-1);
        if (last?.[1] === index) last[1] += part.length;
        else places.push([index, index + part.length]);
      } else if (this.#value === 'plain') continue;
      else if (this.#name === undefined) this.#name = part === '?' ? '' : undefined;
      else if (part === '=') this.#value = isSecretName(this.#name) ? 'secret' : 'plain';
      else this.#name += part;
    }
    return places;
  }
}
