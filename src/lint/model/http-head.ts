/** The head of an HTTP message. */
export class HttpHead {
  readonly firstLine: string;
  readonly #fields = new Map<string, string[]>();

  /** @param text the head as latin1, with the empty line that ends it. */
  constructor(text: string) {
    const [first = '', ...lines] = text.split('\n');
    this.firstLine = first.trimEnd();
    for (const line of lines) {
      const colon = line.indexOf(':');
      if (colon < 1) continue;
      const name = line.slice(0, colon).toLowerCase();
      const values = this.#fields.get(name);
      const value = line.slice(colon + 1).trim();
      if (values) values.push(value);
      else this.#fields.set(name, [value]);
    }
  }

  /** The value of a header. Values of a repeated header are joined by commas. Undefined if it is missing. */
  get(name: string): string | undefined {
    return this.#fields.get(name)?.join(', ');
  }

  /** Each value of a repeated header. */
  all(name: string): readonly string[] {
    return this.#fields.get(name) ?? [];
  }

  /** The names of all headers, in lower case. */
  names(): Iterable<string> {
    return this.#fields.keys();
  }

  /** The media type of the content, in lower case and without parameters. Undefined if the header is missing. */
  get mediaType(): string | undefined {
    return this.get('content-type')?.split(';', 1)[0]!.trim().toLowerCase();
  }
}

/** The media types of an `Accept` header, in lower case and without parameters. */
export function listedIn(accept: string | undefined): string[] {
  return (accept ?? '').split(',').map((each) => each.split(';', 1)[0]!.trim().toLowerCase());
}
