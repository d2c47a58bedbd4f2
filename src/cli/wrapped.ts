const WIDTH = 80;

/** Lines of at most 80 columns. A word that is longer is cut into several. */
export function wrapped(text: string, indent: string, next = indent): string[] {
  const lines: string[] = [];
  let line = indent;
  let isEmpty = true;
  const push = (): void => {
    lines.push(line.trimEnd());
    [line, isEmpty] = [next, true];
  };
  for (let word of text.split(' ')) {
    const space = isEmpty ? '' : ' ';
    if (!isEmpty && line.length + space.length + word.length > WIDTH) push();
    while (line.length + word.length > WIDTH) {
      const room = WIDTH - line.length;
      line += word.slice(0, room);
      word = word.slice(room);
      push();
    }
    line += `${isEmpty ? '' : ' '}${word}`;
    isEmpty = false;
  }
  push();
  return lines;
}
