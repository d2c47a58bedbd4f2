/** A command is called silent after this many milliseconds without an answer. */
const SILENCE = 3000;

export interface SilenceOptions {
  /** The user's name for the server. */
  readonly name: string;
  /** How long the server may take to answer, in milliseconds. 0: no limit. */
  readonly timeout: number;
  readonly print: (line: string) => void;
  /** Whether the server is at a URL. Default: it is a command. */
  readonly remote?: boolean;
  /** Returns whether the user is logging in, and so knows what to wait for. Default: never. */
  readonly loggingIn?: (() => boolean) | undefined;
}

/**
 * Says once that a server has not answered yet. A command may be waiting for something that the user does not see.
 *
 * @returns the answer.
 */
export async function saySilence<T>(answer: Promise<T>, options: SilenceOptions): Promise<T> {
  const { name, timeout, print, remote, loggingIn } = options;
  const limit = timeout > 0 ? ` up to ${timeout / 1000} s` : '';
  const what = remote ? 'response' : 'message on stdout';
  const silent = setTimeout(() => {
    if (!loggingIn?.()) print(`${name} has not answered yet: waiting${limit} for its first ${what}`);
  }, SILENCE);
  try {
    return await answer;
  } finally {
    clearTimeout(silent);
  }
}
