/** The names of header fields and query parameters that carry credentials. Their values are masked in files. */
const SECRET_NAME =
  /authorization|cookie|token|secret|passw|passphrase|pwd|jwt|assertion|signature|api[-_]?key|(?<!allow-)credential|code_?verifier|(access|account|encryption|master|private|shared|signing|subscription)_?key|(^|[-_.])(auth|key|pass)$|^(code|device_?code|dpop|sig)$/i;
/** A longer name of a parameter is not kept, and its value counts as secret. */
const MAX_NAME = 64 * 1024;
/** Matches a character that separates the parameters of a request target, or the text between two of them. */
const PARTS = /[?&=\s]|[^?&=\s]+/g;

/** The kinds of secrets, to show to users. */
export const SECRETS: readonly string[] = ['authorization', 'cookies', 'tokens', 'API keys', 'passwords and secrets'];

/** The start and the end of a secret in a piece of a line. */
type Place = [start: number, end: number];

/** Whether the value of a header or a parameter is secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/**
 * Finds the values of secret parameters in a line, such as the first line of a request. Reads each character once: a
 * hostile line may consist of question marks, or come in pieces of one byte.
 */
export class SecretParameters {
  /** The name of a parameter, as far as it has come. Undefined before the first parameter. */
  #name: string | undefined;
  /** Whether the value of a parameter has begun, and if so, whether it is secret. */
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
      else if (part === '=') {
        const isSecret = this.#name.length > MAX_NAME || isSecretName(this.#name);
        this.#value = isSecret ? 'secret' : 'plain';
      } else if (this.#name.length <= MAX_NAME) this.#name += part;
    }
    return places;
  }
}
