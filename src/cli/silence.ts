/** A command is called silent after this many milliseconds without an answer. */
const SILENCE = 3000;

export interface SilenceOptions {
  /** The user's name for the server. */
  readonly name: string;
  /** How long the server may take to answer, in milliseconds. 0: no limit. */
  readonly timeout: number;
  readonly print: (line: string) => void;
}

/**
 * Says once that a command has not answered yet, because it may be waiting for something that the user does not see.
 *
 * @returns the answer.
 */
export async function saySilence<T>(answer: Promise<T>, { name, timeout, print }: SilenceOptions): Promise<T> {
  const limit = timeout > 0 ? ` up to ${timeout / 1000} s` : '';
  const silent = setTimeout(
    () => print(`${name} has not answered yet: waiting${limit} for its first message on stdout`),
    SILENCE,
  );
  try {
    return await answer;
  } finally {
    clearTimeout(silent);
  }
}
