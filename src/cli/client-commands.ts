import { Option, type Command } from 'commander';
import { withClientOptions, withOutput } from './client-options.ts';
import { positive } from './options.ts';
import { splitCommand, type SplitWords } from './take-target.ts';

/** The commands that call a server. The command that starts the server may follow after `--`. */
const NAMES: ReadonlySet<string | undefined> = new Set([
  'list',
  'call',
  'read',
  'prompt',
  'complete',
  'listen',
  'ping',
  'discover',
]);

/** Splits a command line from the command that starts the server, if it is one of these commands. */
export function splitCommandLine(line: readonly string[]): SplitWords {
  return NAMES.has(line[0]) ? splitCommand(line) : { words: [...line], command: undefined };
}

/**
 * Adds the commands that call a server. Each is loaded only when it runs, so that serving commands start fast.
 *
 * @param command the words after `--`.
 */
export function addClientCommands(root: Command, command: string[] | undefined): void {
  const add = (
    name: string,
    usage: string,
    description: string,
    examples: readonly string[],
    load: () => Promise<(words: SplitWords, flags: never) => Promise<void>>,
  ): Command =>
    withClientOptions(root.command(name))
      .usage(`[options] <target> ${usage}`.trim())
      .description(description)
      .argument('[words...]')
      .configureHelp({ visibleArguments: () => [] })
      .addHelpText('after', help(name, examples))
      .action(async (words: string[], flags: object) => (await load())({ words, command }, flags as never));

  add(
    'list',
    '[tools|resources|templates|prompts...]',
    'list the tools, resources and prompts of a server',
    ['<target> tools --json'],
    async () => (await import('./list.ts')).list,
  );

  const calling = add(
    'call',
    '<tool> [key=value...]',
    'call a tool; its schema determines the types of the arguments',
    [
      '<target> add a=1 b=2',
      '<target> search text=hello tags=a tags=b',
      'maps search within.north=52.5 filter:=\'{"deep":true}\'',
      'maps search --args-json @arguments.json',
      'add a=1 b=2 -- node server.js',
    ],
    async () => (await import('./call.ts')).call,
  ).option('--args-json <json>', 'arguments as JSON, @file, or - for stdin; key=value overrides them');
  withOutput(calling, 'images, audio and other binary content');

  withOutput(
    add(
      'read',
      '<uri>',
      'read a resource',
      ['<target> file:///notes.txt', '<target> image://logo --output logo.png'],
      async () => (await import('./read.ts')).read,
    ),
    'the content',
  );

  withOutput(
    add(
      'prompt',
      '<prompt> [key=value...]',
      'get a prompt with its arguments filled in',
      ['<target> greet name=Ada'],
      async () => (await import('./prompt.ts')).prompt,
    ),
    'images, audio and other binary content',
  );

  add(
    'complete',
    '<prompt|template> key=value...',
    'suggest values for the first key, given the other keys',
    ['<target> greet name=A', "<target> 'greeting://{name}' name=A"],
    async () => (await import('./complete.ts')).complete,
  );

  add(
    'listen',
    '[uri...]',
    'print a line for each change until interrupted',
    ['<target>', '<target> --tools', '<target> file:///notes.txt --json --count 1'],
    async () => (await import('./listen.ts')).listen,
  )
    .option('--tools', 'listen to changes of the list of tools')
    .option('--prompts', 'listen to changes of the list of prompts')
    .option('--resources', 'listen to changes of the list of resources')
    .addOption(new Option('--count <number>', 'exit after this many changes').argParser(positive));

  add('ping', '', 'check whether a server responds', ['<target>'], async () => (await import('./ping.ts')).ping);
  add(
    'discover',
    '',
    'show the name, the revisions and the capabilities of a server',
    ['<target> --json'],
    async () => (await import('./discover.ts')).discover,
  );
}

function help(name: string, examples: readonly string[]): string {
  const lines = examples.map(
    (example) => `  everwire ${name} ${example.replace('<target>', 'https://example.com/mcp')}`,
  );
  return `
A target is a URL, the name of a server in an mcp.json,
or -- and a command at the end of the line.

Examples:
${lines.join('\n')}

Exit codes: 0 success, 1 the server or the tool returned an error,
2 wrong usage, 3 cannot connect, 4 a login is required or has failed,
5 timeout, 130 interrupted.`;
}
