import type { JSX } from 'preact';

/**
 * Characters that would be invisible or change the order of others: controls, format characters such as bidirectional
 * overrides and zero-width ones, line and paragraph separators, tags, and surrogates without a partner.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** The same, but line feeds and tabs. */
const HIDDEN_IN_LINES = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeOf(char: string): string {
  const code = char.codePointAt(0)!;
  const hex = code.toString(16);
  return SHORT[char] ?? (code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`);
}

/** A text as it can be shown in one line, with escapes for what would be hidden. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escapeOf);
}

interface VisibleProps {
  readonly text: string;
  /** Keeps line feeds and tabs. */
  readonly lines?: boolean;
}

/** A text that somebody else wrote. What would be hidden is shown as marked escapes. */
export function Visible({ text, lines = false }: VisibleProps): JSX.Element {
  const pattern = lines ? HIDDEN_IN_LINES : HIDDEN;
  if (text.search(pattern) === -1) return <>{text}</>;
  const pieces: (JSX.Element | string)[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) pieces.push(text.slice(at, match.index));
    pieces.push(<span class="escape">{escapeOf(match[0])}</span>);
    at = match.index + match[0].length;
  }
  pieces.push(text.slice(at));
  return <>{pieces}</>;
}
