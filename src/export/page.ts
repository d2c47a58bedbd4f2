import { printable } from '../base/printable.ts';
import type { Masks } from './masks.ts';
import type { RecordedPart, RecordedWire } from './recorded-wire.ts';

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
input { font: inherit; padding: .3rem .5rem; width: min(30rem, 100%); box-sizing: border-box; }
details { border-bottom: 1px solid var(--line); padding: .2rem 0; }
summary { cursor: pointer; display: grid; grid-template-columns: 5rem 6rem 6rem 1fr; gap: .5rem; overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; }
`;

const SCRIPT = `
const filter = document.querySelector('input');
filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase();
  for (const each of document.querySelectorAll('details'))
    each.hidden = !each.textContent.toLowerCase().includes(words);
});
`;

/** The longest text of a part that is shown, in characters. */
const MAX_TEXT = 100_000;

/**
 * One page that shows what is in a recording. It needs no network: its style and its script are in it, and nothing else may
 * run.
 *
 * @param name of the recording, to show to users.
 */
export async function htmlPage({ parts }: RecordedWire, name: string, started: string, masks: Masks): Promise<string> {
  const [style, script] = [await hashOf(STYLE), await hashOf(SCRIPT)];
  const policy = `default-src 'none'; style-src ${style}; script-src ${script}; img-src data:; base-uri 'none'; form-action 'none'`;
  const title = html(masks.text(name));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
<p>Recorded ${html(started)}. ${parts.length} parts. Secrets are masked.</p>
<p><label>Show only parts with this text <input type="search"></label></p>
<main>
${parts.map((part) => partHtml(part, masks)).join('\n')}
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

function partHtml({ n, t, from, kind, text, title }: RecordedPart, masks: Masks): string {
  const shown =
    kind === 'head' ? masks.head(text) : kind === 'message' ? pretty(masks.message(text)) : masks.text(text);
  const cut = shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}…` : shown;
  const what = kind === 'head' ? masks.target(title) : masks.text(title);
  return `<details><summary><span>${n}</span><span>${(t / 1000).toFixed(1)} ms</span><span>${from}</span><span>${html(what)}</span></summary><pre>${html(cut)}</pre></details>`;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(hash)))}'`;
}

/** Text in HTML. */
function html(text: string): string {
  return printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
