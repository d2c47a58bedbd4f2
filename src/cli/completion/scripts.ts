import type { SHELLS } from './shells.ts';

/**
 * The scripts that make shells complete `everwire`. Each asks `everwire completion suggest -- <words>`, whose answer has a
 * line for each word: the word, a tab and its description; or only the line `:files`, if the shell should complete names
 * of files.
 */
export const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  // Also for the old version of macOS, which lacks `mapfile` and `compopt`. It splits words at = and :, and inserts only the
  // part after these, so the line is split again. A ~ for a home folder must not be quoted.
  bash: `# everwire completion for bash: add this line to ~/.bashrc
#   eval "$(everwire completion bash)"
_everwire() {
  local IFS=$' \\t\\n' tab=$'\\t' line word words current
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
  case "\${COMP_LINE:0:COMP_POINT}" in *[[:space:]]) words+=("") ;; esac
  current="\${words[\${#words[@]} - 1]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o default 2> /dev/null || while IFS= read -r word; do
        word="$(printf '%q' "$word")"
        case "$current" in '~'*) word="\${word#?}" ;; esac
        COMPREPLY+=("$word")
      done < <(compgen -f -- "$current")
      return
    fi
    word="\${line%%"$tab"*}"
    case "$current" in
      *[=:]*) word="\${word#"\${current%"\${current##*[=:]}"}"}" ;;
    esac
    COMPREPLY+=("$(printf '%q' "$word")")
  done < <(everwire completion suggest -- "\${words[@]:1}" 2> /dev/null)
}
complete -F _everwire everwire
`,
  zsh: `#compdef everwire
# everwire completion for zsh: add this line to ~/.zshrc, after compinit
#   source <(everwire completion zsh)
_everwire() {
  local line tab=$'\\t'
  local -a lines values shown
  lines=("\${(@f)$(everwire completion suggest -- "\${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ "\${lines[1]}" == ":files" ]]; then
    _files
    return
  fi
  for line in "\${lines[@]}"; do
    [[ -n "$line" ]] || continue
    values+=("\${line%%$tab*}")
    shown+=("\${line/$tab/  }")
  done
  (( \${#values} )) && compadd -l -d shown -a -- values
}
compdef _everwire everwire
`,
  fish: `# everwire completion for fish: run this once
#   everwire completion fish > ~/.config/fish/completions/everwire.fish
function __everwire_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (everwire completion suggest -- $words[2..-1] 2> /dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $lines
    end
end
complete -c everwire -f -a '(__everwire_complete)'
`,
  // It passes an empty word as two quotes, because PowerShell 5 leaves out an empty argument, and -- in quotes, because
  // PowerShell removes it from the arguments of a script. Typographic quotes end a text in single quotes too, and a word that
  // begins with @ would be a variable.
  powershell: `# everwire completion for PowerShell: add this line to your $PROFILE
#   everwire completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName everwire -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString().Trim("'", '"') })
    $current = if ($wordToComplete -eq '') { '""' } else { $wordToComplete.Trim("'", '"') }
    everwire completion suggest '--' @words $current 2> $null | ForEach-Object {
        if ($_ -ne ':files') {
            $word, $description = $_ -split [char]9, 2
            $inserted = if ($word -match '^[\\w./:-][\\w./:@=-]*$') { $word }
                else { "'" + ($word -replace "['\\u2018\\u2019\\u201a\\u201b]", '$0$0') + "'" }
            if (-not $description) { $description = $word }
            [System.Management.Automation.CompletionResult]::new($inserted, $word, 'ParameterValue', $description)
        }
    }
}
`,
};
