/** The head of an HTTP message. */
export interface HttpHead {
  /** The three parts of the first line. */
  readonly first: readonly [string, string, string];
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The first value of a header, by its name in lower case. */
  header(name: string): string | undefined;
}

/** Reads a head. What is malformed is left as it is. */
export function readHead(text: string): HttpHead {
  const [line = '', ...rest] = text.split(/\r?\n/).filter((each) => each !== '');
  const [one = '', two = '', ...three] = line.split(' ');
  const headers = rest.map((each): [string, string] => {
    const colon = each.indexOf(':');
    return colon < 0 ? [each, ''] : [each.slice(0, colon), each.slice(colon + 1).trim()];
  });
  return {
    first: [one, two, three.join(' ')],
    headers,
    header: (name) => headers.find(([each]) => each.toLowerCase() === name)?.[1],
  };
}

const LINE_FEED = 0x0a;

/** The content of a chunked body (RFC 9112, section 7.1). Ends at the first chunk that is malformed. */
export function dechunked(bytes: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(LINE_FEED, at);
    if (end < 0) break;
    const size = Number.parseInt(new TextDecoder('latin1').decode(bytes.subarray(at, end)), 16);
    if (!(size > 0)) break;
    pieces.push(bytes.subarray(end + 1, end + 1 + size));
    at = end + 1 + size + 2;
  }
  const content = new Uint8Array(pieces.reduce((size, { length }) => size + length, 0));
  let done = 0;
  for (const piece of pieces) {
    content.set(piece, done);
    done += piece.length;
  }
  return content;
}
