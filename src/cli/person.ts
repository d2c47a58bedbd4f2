/** Someone at a terminal, who can be told things and asked for lines. */
export interface Person {
  /** Writes a line. Characters that control a terminal are made visible. */
  tell(line: string): void;
  /**
   * Asks for a line.
   *
   * @returns undefined where the person ended the input instead (Ctrl-D).
   * @throws the reason of the signal where it fires first.
   */
  ask(prompt: string, signal: AbortSignal): Promise<string | undefined>;
}

/** What the person said to a question that is yes or no; undefined where they ended the input. */
export async function agrees(
  person: Person,
  question: string,
  otherwise: boolean,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  for (;;) {
    const line = await person.ask(`${question} [${otherwise ? 'Y/n' : 'y/N'}] `, signal);
    if (line === undefined) return undefined;
    const said = yesOrNo(line);
    if (said !== undefined) return said;
    if (line.trim() === '') return otherwise;
    person.tell('Please answer yes or no.');
  }
}

export function yesOrNo(line: string): boolean | undefined {
  if (/^\s*(y|yes|true)\s*$/i.test(line)) return true;
  return /^\s*(n|no|false)\s*$/i.test(line) ? false : undefined;
}
