export interface Transformed {
  readonly code: string;
  /** How many statements were rewritten. */
  readonly changes: number;
  /** What was left for a person, with the line in the original. */
  readonly todos: readonly { readonly line: number; readonly text: string }[];
  /** Why there is nothing to rewrite, if it is known. */
  readonly note?: string | undefined;
}

/** Rewrites a module from the official SDK 1.x to Everwire. @throws SyntaxError if it cannot be parsed */
export function transform(source: string, file?: string): Transformed;
