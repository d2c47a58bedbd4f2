import type { JSX } from 'preact';

/** A sentence of the linter, in which names stand between backticks. */
export function RuleText({ text }: { text: string }): JSX.Element {
  return <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
