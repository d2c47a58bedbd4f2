/** One line for the person at the terminal. Stdout belongs to the protocol. */
export function say(line: string): void {
  process.stderr.write(`everwire: ${printable(line)}\n`);
}

/** What a peer sent may be quoted in it, and must not speak to the terminal. */
function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => JSON.stringify(character).slice(1, -1));
}
