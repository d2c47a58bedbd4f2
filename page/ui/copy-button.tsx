import { useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { toast } from './toast.tsx';

/** Copies a text to the clipboard, and says so. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const [copied, setCopied] = useState<string | undefined>(undefined);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      (error: unknown) => toast(`Cannot copy: ${(error as Error).message}`, 'bad'),
    );
  };
  return (
    <button type="button" onClick={copy}>
      {copied === text ? 'Copied' : label}
    </button>
  );
}
