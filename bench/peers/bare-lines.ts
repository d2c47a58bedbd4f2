/** The limit for a server over stdio: split lines, the JSON work, one write for each chunk that was read. */
export function answerLines(answer: (message: any) => object | undefined): void {
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    let output = '';
    for (const line of lines) {
      const result = answer(JSON.parse(line));
      if (result !== undefined) output += `${JSON.stringify(result)}\n`;
    }
    if (output !== '') process.stdout.write(output);
  });
}
