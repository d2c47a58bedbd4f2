import { headerProblem } from '../bridge/config/server.ts';
import { fillWith, hasUnclosedVariable, UNCLOSED } from '../bridge/config/variables.ts';
import { isHeaderName } from '../protocol/header-syntax.ts';
import { Failure } from './failure.ts';
import { printStatus } from './print-status.ts';

/**
 * The headers of `--header 'Name: value'`, with names in lower case. Variables are replaced as in a configuration file.
 *
 * @throws Failure with code 2. Its message contains no header value.
 */
export function readHeaders(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const fill = fillWith({ env });
  return Object.fromEntries(
    words.map((word) => {
      const [name, text] = splitHeader(word);
      const wrong = (problem: string): never => {
        throw Failure.usage(`--header ${name} ${problem}`);
      };
      if (hasUnclosedVariable(text)) printStatus(`--header ${name} ${UNCLOSED}`);
      const value = fill(text, wrong).trim();
      const problem = headerProblem(name, value);
      return problem === undefined ? [name.toLowerCase(), value] : wrong(problem);
    }),
  );
}

/**
 * The name, and the text after the colon.
 *
 * @throws Failure with code 2. Its message shows nothing of the word, because a part before a colon may be a secret too.
 */
export function splitHeader(word: string): [name: string, text: string] {
  const [, name, text = ''] = /^([^:]*):(.*)$/s.exec(word) ?? [];
  if (name !== undefined && isHeaderName(name)) return [name, text];
  if ((name ?? word).includes('=')) throw Failure.usage("--header must be written 'Name: value', not name=value");
  const what = name === undefined ? 'it has no colon' : 'the part before the colon cannot be the name of a header';
  throw Failure.usage(`--header must be written 'Name: value', and ${what}`);
}
