/** The user at a terminal, who can read messages and type answers. */
export interface Prompter {
  /** Writes a line. Characters that control a terminal are made visible. */
  print(line: string): void;
  /**
   * Asks for a line.
   *
   * @returns undefined if the user ended the input (Ctrl-D).
   * @throws the signal's reason if it fires first.
   */
  ask(prompt: string, signal: AbortSignal): Promise<string | undefined>;
}

/** Asks a yes-or-no question. Undefined if the user ended the input. */
export async function agrees(
  prompter: Prompter,
  question: string,
  otherwise: boolean,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  for (;;) {
    const line = await prompter.ask(`${question} [${otherwise ? 'Y/n' : 'y/N'}] `, signal);
    if (line === undefined) return undefined;
    const answer = yesOrNo(line);
    if (answer !== undefined) return answer;
    if (line.trim() === '') return otherwise;
    prompter.print('Please answer yes or no.');
  }
}

export function yesOrNo(line: string): boolean | undefined {
  if (/^\s*(y|yes|true)\s*$/i.test(line)) return true;
  return /^\s*(n|no|false)\s*$/i.test(line) ? false : undefined;
}
