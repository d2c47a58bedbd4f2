/** `npm start` runs the demo server, with options if some are given. `npm start -- bridge …` runs another command. */
const [first = '-'] = process.argv.slice(2);
if (first.startsWith('-')) process.argv.splice(2, 0, 'demo');
await import(new URL('../lib/cli.js', import.meta.url).href);
