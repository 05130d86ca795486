/** For bash 3.2 and newer. The whole line is handed over: bash cuts words at = and : too, and gmn knows what it means. */
const BASH = String.raw`# Completion of gmn for bash, made by: gmn completion bash
_gmn() {
  local paths line
  COMPREPLY=()
  {
    IFS= read -r paths
    while IFS= read -r line; do COMPREPLY+=("$line"); done
  } < <(command gmn __complete bash "$COMP_WORDBREAKS" "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  # Readline completes paths itself where nothing else fits.
  case $paths in
    *files) compopt -o default 2>/dev/null ;;
    directories) compopt -o dirnames 2>/dev/null ;;
  esac
}

if ((BASH_VERSINFO[0] < 4)); then
  complete -o default -F _gmn gmn
else
  complete -F _gmn gmn
fi
`;

/** For zsh: source it after compinit, or install it as `_gmn` in a directory of fpath. */
const ZSH = String.raw`#compdef gmn
# Completion of gmn for zsh, made by: gmn completion zsh
_gmn() {
  local -a found option
  local paths head what=value
  integer none=1
  found=("\${(@f)$(command gmn __complete zsh "\${(@Q)words[1,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  paths=\${found[1]%%$'\t'*}
  head=\${found[1]#*$'\t'}
  shift found
  case $head in
    (*@) compset -P '*@' ;;
    (?*) compset -P 1 '*=' ;;
  esac
  [[ $PREFIX == -* ]] && option=(-o) what=flag
  (($#found)) && _describe $option -t gmn-\${what}s $what found && none=0
  case $paths in
    (files) _files && none=0 ;;
    (directories) _files -/ && none=0 ;;
    (otherwise-files) ((none)) && _files && none=0 ;;
  esac
  return none
}

if [[ $funcstack[1] == _gmn ]]; then _gmn "$@"; else compdef _gmn gmn; fi
`;

/** For fish 3 and newer. */
const FISH = String.raw`# Completion of gmn for fish, made by: gmn completion fish
function __gmn_complete
    set -l typed (commandline -ct)
    set -l found (command gmn __complete fish (commandline -opc) "$typed" 2>/dev/null)
    set -l paths (string split \t -- $found[1])
    set -e found[1]
    string join \n -- $found
    # Behind --flag= the path begins later.
    set -l path (string sub -s (math (string length -- "$paths[2]") + 1) -- "$typed")
    switch "$paths[1]"
        case '*files'
            string replace -r '^' -- "$paths[2]" (__fish_complete_path "$path")
        case directories
            string replace -r '^' -- "$paths[2]" (__fish_complete_directories "$path")
    end
end

complete -c gmn -f
complete -c gmn -a '(__gmn_complete)'
`;

/** For PowerShell 5 and newer, which passes no empty words to a program: two quotes stand for one. */
const POWERSHELL = `# Completion of gmn for PowerShell, made by: gmn completion powershell
Register-ArgumentCompleter -Native -CommandName gmn -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $before = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and -not $wordToComplete) })
  $words = @($before | ForEach-Object { if ($_ -is [Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
  $typed = $wordToComplete.Trim([char]39, [char]34)
  if (-not $typed) { $typed = "''" }
  $paths, $found = @(& gmn __complete powershell @words $typed 2>$null)
  $results = @(foreach ($line in $found) {
    $text, $value, $help = $line -split [char]9
    [Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $help)
  })
  $results
  $kind, $head = "$paths" -split [char]9
  if ($kind -notmatch 'files$|^directories$' -or ($kind -eq 'otherwise-files' -and $results)) { return }
  foreach ($path in [Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete.Substring("$head".Length))) {
    if ($kind -eq 'directories' -and $path.ResultType -ne 'ProviderContainer') { continue }
    [Management.Automation.CompletionResult]::new($head + $path.CompletionText, $path.ListItemText, $path.ResultType, $path.ToolTip)
  }
}
`;

/** What the shells of `gmn completion` load. All they know is how to ask `gmn __complete`, and to offer its answer. */
export const SCRIPTS = {
  bash: BASH.replaceAll('\\${', () => '${'),
  zsh: ZSH.replaceAll('\\${', () => '${'),
  fish: FISH,
  powershell: POWERSHELL,
} as const;

export type Shell = keyof typeof SCRIPTS;
