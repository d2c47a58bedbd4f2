/** The style of the exported page. It looks like the screen Wire of the inspector. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --bg: light-dark(#ffffff, #14171c); --raised: light-dark(#f6f7f9, #1a1e25);
  --line: light-dark(#dce0e6, #2b313b); --line-strong: light-dark(#838b97, #6d7787);
  --text: light-dark(#1a1f26, #e3e7ed); --soft: light-dark(#535d6a, #a5afbc);
  --accent: light-dark(#0a58a6, #6fb7ff); --violet: light-dark(#663a9c, #c4a6f3);
  --bad: light-dark(#b0241c, #ff938b); --warn: light-dark(#7d4b00, #efb750);
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem .75rem; background: var(--bg); color: var(--text); font: .8125rem/1.45 system-ui, sans-serif; }
h1, p { margin: 0; overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; line-height: 1.3; }
header { display: grid; gap: .5rem; margin-bottom: 1rem; }
header p { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; color: var(--soft); }
header p:last-child { gap: .5rem; }
label { display: flex; flex: 1; align-items: center; gap: .5rem; max-width: 32rem; color: var(--text); }
input { flex: 1; min-width: 0; min-height: 1.75rem; padding: .1875rem .5rem; border: 1px solid var(--line-strong); border-radius: 4px; background: var(--bg); color: inherit; font: inherit; }
input::placeholder { color: var(--soft); opacity: 1; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
main { border-top: 1px solid var(--line); }
details { border-bottom: 1px solid var(--line); }
details[open] > summary { background: var(--raised); }
summary { display: grid; grid-template-columns: 1rem 3rem 6rem 5.5rem 6.5rem minmax(0, 1fr); gap: 0 .5rem; align-items: baseline; padding: .25rem .5rem .25rem 0; font: .75rem/1.45 var(--mono); cursor: pointer; }
summary:hover { background: var(--raised); }
summary::before { content: '›'; color: var(--soft); text-align: center; }
[open] > summary::before { transform: rotate(90deg); }
summary::-webkit-details-marker { display: none; }
.n, .t { color: var(--soft); text-align: right; font-variant-numeric: tabular-nums; }
.from { padding-left: .25rem; color: var(--accent); white-space: nowrap; }
.server .from { color: var(--violet); }
.kind, .head .what, .result .what { color: var(--soft); }
.error :is(.kind, .what) { color: var(--bad); }
.stderr :is(.from, .kind, .what) { color: var(--warn); }
.what { overflow-wrap: anywhere; }
pre { margin: 0; padding: .5rem .75rem; background: var(--raised); font: .75rem/1.6 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  summary { grid-template-columns: 1rem auto auto auto minmax(0, 1fr); padding-block: .375rem; }
  .n { text-align: left; }
  .kind { text-align: right; }
  .what { grid-column: 2 / -1; }
}
`;

/** Its script: the filter. */
export const PAGE_SCRIPT = `
const filter = document.querySelector('input');
const count = document.querySelector('output');
const records = [...document.querySelectorAll('details')];
filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase();
  let shown = 0;
  for (const each of records) {
    each.hidden = !each.textContent.toLowerCase().includes(words);
    if (!each.hidden) shown += 1;
  }
  count.textContent = words === '' ? '' : shown + ' of ' + records.length;
});
`;
