import { quoteForShell } from '../../core/text/quote.ts';
import { encodeValues, type PlannedCommand } from './plan.ts';

/** For zsh: source it after compinit, or install it as `_gmn` in a directory of fpath. */
export function zshScript(plan: readonly PlannedCommand[]): string {
  return `#compdef gmn
# Completion of gmn for zsh, made by: gmn completion zsh

# Each sets reply or REPLY to what the command $1 has: its commands, its flags, what its flag $2 takes, what its word number $2 is.
_gmn_commands() { case $1 in
${formatZshCases(plan, ({ commands }) => commands.map(({ name, summary }) => formatDescribed(name, summary)))}
esac }
_gmn_flags() { case $1 in
${formatZshCases(plan, ({ flags }) => flags.flatMap(({ names, help }) => names.map((name) => formatDescribed(name, help))))}
esac }
_gmn_takes() { case "$1 $2" in
${plan.flatMap(formatZshFlagValues).join('\n')}
  (*) REPLY= ;;
esac }
_gmn_word() { case "$1 $2" in
${plan.flatMap(formatZshArguments).join('\n')}
  (*) REPLY=free ;;
esac }
${ENGINE}`;
}

function formatZshCases(
  plan: readonly PlannedCommand[],
  listItems: (command: PlannedCommand) => readonly string[],
): string {
  const found = plan.map(
    (command) => `  ('${command.path}') reply=(${listItems(command).map(quoteForShell).join(' ')}) ;;`,
  );
  return [...found, '  (*) reply=() ;;'].join('\n');
}

/** In the format of zsh's _describe. */
function formatDescribed(name: string, text: string): string {
  return `${name.replaceAll(':', '\\:')}:${text}`;
}

function formatZshFlagValues({ path, flags }: PlannedCommand): readonly string[] {
  return flags.flatMap(({ names, values }) =>
    values === undefined
      ? []
      : `  (${names.map((name) => `'${path} ${name}'`).join('|')}) REPLY=${quoteForShell(encodeValues(values))} ;;`,
  );
}

function formatZshArguments({ path, words: found, repeats }: PlannedCommand): readonly string[] {
  return found.map((values, index) => {
    const position = repeats && index === found.length - 1 ? `'${path} '[0-9]*` : `'${path} ${index}'`;
    return `  (${position}) REPLY=${quoteForShell(encodeValues(values))} ;;`;
  });
}

const ENGINE = String.raw`
# Sets REPLY to what the last of the letters in $2 (-qm) takes from the next word.
_gmn_letters() {
  local letters=\${2#-}
  REPLY=
  while [[ -n $letters ]]; do
    _gmn_takes "$1" "-\${letters[1]}"
    letters=\${letters[2,-1]}
    if [[ -n $REPLY ]]; then
      [[ -n $letters ]] && REPLY=
      return
    fi
  done
}

# Offers what $1 says may stand here.
_gmn_offer() {
  local line
  local -a found
  case $1 in
    (files) _files ;;
    (directories) _files -/ ;;
    (words:*) compadd -- \${=1#words:} ;;
    (ask:*)
      for line in "\${(@f)$(command gmn __complete "\${1#ask:}" "$before" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        # _describe cuts at the first colon.
        found+=("\${\${\${line%%$'\t'*}//\\/\\\\}//:/\\:}:\${line#*$'\t'}")
      done
      _describe -t "gmn-\${1#ask:}" "\${1#ask:}" found && return
      # A template may be a file, too.
      [[ $1 == ask:templates ]] && _files
      ;;
    (*) return 1 ;;
  esac
}

_gmn() {
  local at=gmn pending= word before= REPLY=
  local -a reply
  integer i count=0
  for ((i = 2; i < CURRENT; i++)); do
    word=\${(Q)words[i]}
    if [[ -n $pending ]]; then
      pending=
      continue
    fi
    case $word in
      (--) return 1 ;;
      (--*=*) ;;
      (--*) _gmn_takes $at $word; pending=$REPLY ;;
      (-?*) _gmn_letters $at $word; pending=$REPLY ;;
      (*)
        _gmn_commands $at
        if ((count == 0 && \${reply[(I)\${(b)word}:*]})); then
          at+=" $word"
          continue
        fi
        ((count += 1))
        before=$word
        _gmn_word $at $count
        # What follows is for the program of this name.
        if [[ $REPLY == rest && $word != http*://* ]]; then
          _gmn_offer files
          return
        fi
        ;;
    esac
  done
  if [[ -n $pending ]]; then
    _gmn_offer $pending
  elif [[ $PREFIX == --*=* ]]; then
    _gmn_takes $at \${PREFIX%%=*}
    compset -P 1 '*='
    _gmn_offer $REPLY
  elif [[ $PREFIX == -* ]]; then
    _gmn_flags $at
    _describe -o -t flags flag reply
  else
    local found=1
    if ((count == 0)); then
      _gmn_commands $at
      (($#reply)) && _describe -t commands command reply && found=0
    fi
    _gmn_word $at $count
    _gmn_offer $REPLY && found=0
    return found
  fi
}

if [[ $funcstack[1] == _gmn ]]; then _gmn "$@"; else compdef _gmn gmn; fi
`.replaceAll('\\${', '${');
