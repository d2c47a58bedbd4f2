import { Option, type Command } from 'commander';
import { withClientOptions, withOutput, type ClientFlags } from './client-options.ts';
import { positive } from './options.ts';
import { splitCommand, takeTarget, type SplitWords } from './take-target.ts';
import type { Work } from './with-client.ts';

/** A command that calls a server. */
interface ClientCommand {
  readonly name: string;
  /** The words after the target. */
  readonly usage: string;
  readonly description: string;
  readonly examples: readonly string[];
  /** Adds the options that only this command has. */
  readonly options?: (command: Command) => void;
  /** Loads the function that checks the words after the target, and returns what to do with the server. */
  readonly load: () => Promise<(rest: readonly string[], flags: never) => Work | Promise<Work>>;
}

const COMMANDS: readonly ClientCommand[] = [
  {
    name: 'list',
    usage: '[tools|resources|templates|prompts...]',
    description: 'list the tools, resources and prompts of a server',
    examples: ['<target> tools --json'],
    load: async () => (await import('./list.ts')).list,
  },
  {
    name: 'call',
    usage: '<tool> [key=value...]',
    description: 'call a tool; its schema determines the types of the arguments',
    examples: [
      '<target> add a=1 b=2',
      '<target> search text=hello tags=a tags=b',
      'maps search within.north=52.5 filter:=\'{"deep":true}\'',
      'maps search --args-json @arguments.json',
      'add a=1 b=2 -- node server.js',
    ],
    options: (command) => {
      command.option('--args-json <json>', 'arguments as JSON, @file, or - for stdin; key=value overrides them');
      withOutput(command, 'images, audio and other binary content');
    },
    load: async () => (await import('./call.ts')).call,
  },
  {
    name: 'read',
    usage: '<uri>',
    description: 'read a resource',
    examples: ['<target> file:///notes.txt', '<target> image://logo --output logo.png'],
    options: (command) => withOutput(command, 'the content'),
    load: async () => (await import('./read.ts')).read,
  },
  {
    name: 'prompt',
    usage: '<prompt> [key=value...]',
    description: 'get a prompt with its arguments filled in',
    examples: ['<target> greet name=Ada'],
    options: (command) => withOutput(command, 'images, audio and other binary content'),
    load: async () => (await import('./prompt.ts')).prompt,
  },
  {
    name: 'complete',
    usage: '<prompt|template> key=value...',
    description: 'suggest values for the first key, given the other keys',
    examples: ['<target> greet name=A', "<target> 'greeting://{name}' name=A"],
    load: async () => (await import('./complete.ts')).complete,
  },
  {
    name: 'listen',
    usage: '[uri...]',
    description: 'print a line for each change until interrupted',
    examples: ['<target>', '<target> --tools', '<target> file:///notes.txt --json --count 1'],
    options: (command) =>
      command
        .option('--tools', 'listen to changes of the list of tools')
        .option('--prompts', 'listen to changes of the list of prompts')
        .option('--resources', 'listen to changes of the list of resources')
        .addOption(new Option('--count <number>', 'exit after this many changes').argParser(positive)),
    load: async () => (await import('./listen.ts')).listen,
  },
  {
    name: 'ping',
    usage: '',
    description: 'check whether a server responds',
    examples: ['<target>'],
    load: async () => (await import('./ping.ts')).ping,
  },
  {
    name: 'discover',
    usage: '',
    description: 'show the name, the revisions and the capabilities of a server',
    examples: ['<target> --json'],
    load: async () => (await import('./discover.ts')).discover,
  },
];

/** Splits a command line from the command that starts the server, if it is one of these commands. */
export function splitCommandLine(line: readonly string[]): SplitWords {
  const splits =
    ['check', 'completion', 'inspect', 'install', 'login', 'logout', 'replay'].includes(line[0]!) ||
    COMMANDS.some(({ name }) => name === line[0]);
  return splits ? splitCommand(line) : { words: [...line], command: undefined };
}

/**
 * Adds the commands that call a server. Each is loaded only when it runs, so that serving commands start fast.
 *
 * @param server the words after `--`.
 */
export function addClientCommands(root: Command, server: string[] | undefined): void {
  for (const { name, usage, description, examples, options, load } of COMMANDS) {
    const command = withClientOptions(root.command(name))
      .usage(`[options] <target> ${usage}`.trim())
      .description(description)
      .argument('[words...]')
      .configureHelp({ visibleArguments: () => [] })
      .addHelpText('after', help(name, examples))
      .action(async (words: string[], flags: ClientFlags) => {
        const { target, rest } = takeTarget({ words, command: server }, flags);
        const prepare = await load();
        const { withClient } = await import('./with-client.ts');
        await withClient(target, flags, await prepare(rest, flags as never));
      });
    options?.(command);
  }
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
