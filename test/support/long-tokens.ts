/** A token that a server may choose, and texts in which a search for it meets very many parts of it. */
export const token = 'a'.repeat(8000);

export const textsOfParts: readonly (readonly [what: string, text: string])[] = [
  ['many beginnings', `${token.slice(1)}b`.repeat(30)],
  ['many ends', `b${token.slice(1)}`.repeat(30)],
  ['many lines', `${token.slice(1)}\n`.repeat(30)],
  ['many tokens', token.repeat(30)],
];
