import { Argument, type Command } from 'commander';
import { Output } from './output.ts';
import { SHELLS } from './completion/shells.ts';
import { surroundings } from './surroundings.ts';

/** Adds the command that prints the scripts for shells, and answers them. @param line the words after `--`. */
export function addCompletionCommand(root: Command, line: string[] | undefined): void {
  root
    .command('completion')
    .usage(`<${SHELLS.join('|')}>`)
    .description('print a script that makes a shell complete the commands of everwire')
    .addArgument(new Argument('<shell>').choices([...SHELLS, 'suggest']))
    .configureHelp({ visibleArguments: () => [] })
    .addHelpText('after', HELP)
    .action(async (shell: (typeof SHELLS)[number] | 'suggest') => {
      const output = new Output({});
      if (shell !== 'suggest') return output.text((await import('./completion/scripts.ts')).SCRIPTS[shell]);
      const { FILES, suggest } = await import('./completion/suggest.ts');
      const found = suggest(root, line ?? [], surroundings());
      if (found === FILES) return output.line(':files');
      if (found.length > 0)
        await output.text(found.map(({ word, description }) => `${word}\t${description}`).join('\n'));
    });
}

const HELP = `
Examples:
  eval "$(everwire completion bash)"        in ~/.bashrc
  source <(everwire completion zsh)         in ~/.zshrc
  everwire completion fish > ~/.config/fish/completions/everwire.fish
  everwire completion powershell | Out-String | Invoke-Expression`;
