import { printable } from '../base/printable.ts';
import { cutText } from '../base/short-text.ts';
import { isDeeper } from '../jsonrpc/bounds.ts';
import type { Masks } from './masks.ts';
import { PageRows, type PageRow } from './page-rows.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from './page-style.ts';
import type { RecordedWire } from './recorded-wire.ts';

/** The longest text of a part that is shown, in characters. */
const MAX_TEXT = 100_000;
/** The same for the name of the server. */
const MAX_NAME = 200;
/** How deep a message may be nested that is indented. Its indentation grows with the square of the depth. */
const MAX_DEPTH = 100;

/**
 * One page that shows what is in a recording. It needs no network: its style and its script are in it, and nothing else may
 * run.
 *
 * @param name of the recording, to show to users.
 */
export async function htmlPage({ parts }: RecordedWire, name: string, started: string, masks: Masks): Promise<string> {
  const [style, script] = [await hashOf(PAGE_STYLE), await hashOf(PAGE_SCRIPT)];
  const policy = `default-src 'none'; style-src ${style}; script-src ${script}; img-src data:; base-uri 'none'; form-action 'none'`;
  const rows = new PageRows(parts);
  const shown = html(masks.text(name));
  const server = rows.serverName === undefined ? undefined : html(masks.text(rows.serverName.slice(0, MAX_NAME)));
  const time = html(started.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'));
  const count = `${parts.length} ${parts.length === 1 ? 'record' : 'records'}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${server ?? shown}, ${time}, ${count}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
<h1>${server ?? shown}</h1>
<p>${server === undefined ? '' : `<span>${shown}</span>`}<span>Recorded ${time}</span><span>${count}</span><span>Secrets are masked</span></p>
<p><label>Filter <input type="search" placeholder="Text in a record"></label> <output></output></p>
</header>
<main>
${rows.map((row) => rowHtml(row, masks)).join('\n')}
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

function rowHtml({ part, kind, title, name }: PageRow, masks: Masks): string {
  const { n, t, from, text } = part;
  const shown =
    part.kind === 'head' ? masks.head(text) : part.kind === 'message' ? pretty(masks.message(text)) : masks.text(text);
  const what = part.kind === 'head' ? masks.target(title) : masks.text(title);
  const cells = [
    `<span class="n">${n}</span>`,
    `<span class="t">${(t / 1000).toFixed(1)} ms</span>`,
    `<span class="from"><span aria-hidden="true">${ARROWS[from]}</span> ${from}</span>`,
    `<span class="kind">${kind}</span>`,
    `<span class="what">${html(what)}${name === undefined ? '' : ` <b>${html(masks.text(name))}</b>`}</span>`,
  ];
  return `<details class="${kind} ${from}"><summary>${cells.join('')}</summary><pre>${html(cutText(shown, MAX_TEXT))}</pre></details>`;
}

/** The client is on the left. */
const ARROWS = { client: '→', server: '←', stderr: '!' } as const;

function pretty(text: string): string {
  if (isDeeper(text, MAX_DEPTH)) return text;
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
