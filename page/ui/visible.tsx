import type { JSX } from 'preact';

/**
 * Runs of characters that would be invisible or change the order of others: controls, format characters such as
 * bidirectional overrides and zero-width ones, line and paragraph separators, tags, surrogates without a partner, and
 * what Unicode says may be ignored, such as variation selectors. Emoji may have the selector U+FE0F.
 */
const HIDDEN = /(?:[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?!\uFE0F)\p{DI}|(?<!\p{Emoji})\uFE0F)+/gu;
/** The same, but line feeds and tabs. */
const HIDDEN_IN_LINES = /(?:[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?!\uFE0F)\p{DI}|(?<!\p{Emoji})\uFE0F)+/gu;
/**
 * The most runs of a text that are marked one by one. A page has hundreds of texts, and a browser needs seconds to lay out
 * 100 000 elements.
 */
const MAX_MARKED = 20;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapesOf(run: string): string {
  return Array.from(run, escapeOf).join('');
}

function escapeOf(char: string): string {
  const code = char.codePointAt(0)!;
  const hex = code.toString(16);
  return SHORT[char] ?? (code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`);
}

/** A text as it can be shown in one line, with escapes for what would be hidden. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escapesOf);
}

interface VisibleProps {
  readonly text: string;
  /** Keeps line feeds and tabs. */
  readonly lines?: boolean;
}

/**
 * Text from somebody else, such as a server. What would be hidden is shown as escapes. Of many, the first are marked, and then
 * the whole rest of the text.
 */
export function Visible({ text, lines = false }: VisibleProps): JSX.Element {
  const pattern = lines ? HIDDEN_IN_LINES : HIDDEN;
  if (text.search(pattern) === -1) return <>{text}</>;
  const pieces: (JSX.Element | string)[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (pieces.length >= 2 * MAX_MARKED) break;
    pieces.push(text.slice(at, match.index), <span class="escape">{escapesOf(match[0])}</span>);
    at = match.index + match[0].length;
  }
  const rest = text.slice(at);
  const escaped = rest.replace(pattern, escapesOf);
  pieces.push(escaped === rest ? rest : <span class="escape">{escaped}</span>);
  return <>{pieces}</>;
}
