import { quoteForShell } from '../../core/text/quote.ts';
import { encodeValues, type PlannedCommand } from './plan.ts';

/** For bash 3.2 and newer. */
export function bashScript(plan: readonly PlannedCommand[]): string {
  return `# Completion of gmn for bash, made by: gmn completion bash

# Each sets REPLY to what the command $1 has: its commands, its flags, what its flag $2 takes, what its word number $2 is.
_gmn_commands() { case $1 in
${formatBashCases(plan, ({ commands }) => commands.map(({ name }) => name).join(' '))}
esac }
_gmn_flags() { case $1 in
${formatBashCases(plan, ({ flags }) => flags.flatMap(({ names }) => names).join(' '))}
esac }
_gmn_takes() { case "$1 $2" in
${plan.flatMap(formatBashFlagValues).join('\n')}
  *) REPLY= ;;
esac }
_gmn_word() { case "$1 $2" in
${plan.flatMap(formatBashArguments).join('\n')}
  *) REPLY=free ;;
esac }
${ENGINE}`;
}

function formatBashCases(plan: readonly PlannedCommand[], formatItems: (command: PlannedCommand) => string): string {
  const rows = plan.map((command) => `  '${command.path}') REPLY=${quoteForShell(formatItems(command))} ;;`);
  return [...rows, '  *) REPLY= ;;'].join('\n');
}

function formatBashFlagValues({ path, flags }: PlannedCommand): readonly string[] {
  return flags.flatMap(({ names, values }) =>
    values === undefined
      ? []
      : `  ${names.map((name) => `'${path} ${name}'`).join('|')}) REPLY=${quoteForShell(encodeValues(values))} ;;`,
  );
}

function formatBashArguments({ path, words: found, repeats }: PlannedCommand): readonly string[] {
  return found.map((values, index) => {
    const position = repeats && index === found.length - 1 ? `'${path} '[0-9]*` : `'${path} ${index}'`;
    return `  ${position}) REPLY=${quoteForShell(encodeValues(values))} ;;`;
  });
}

const ENGINE = String.raw`
# Sets words to the words up to the cursor. Bash cuts them at = and : too; where no blank is between two they are one.
_gmn_words() {
  local line=\${COMP_LINE:0:COMP_POINT} rest word i
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    rest=\${line#"\${line%%[![:space:]]*}"}
    word=\${COMP_WORDS[i]}
    if ((i == COMP_CWORD)); then word=$rest; fi
    if ((i > 0)) && [[ $rest == "$line" ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    line=\${rest:\${#word}}
  done
}

# Sets REPLY to what the last of the letters in $2 (-qm) takes from the next word.
_gmn_letters() {
  local letters=\${2#-}
  REPLY=
  while [[ -n $letters ]]; do
    _gmn_takes "$1" "-\${letters:0:1}"
    letters=\${letters:1}
    if [[ -n $REPLY ]]; then
      if [[ -n $letters ]]; then REPLY=; fi
      return
    fi
  done
}

# Offers what $1 says may stand where $2 is typed; $3 is the flag before it, as in --flag=value.
_gmn_offer() {
  local typed=$2 head=$3 quote= strip= tick=$'\x60' value rest full
  case $typed in
    \"*) quote=\" typed=\${typed:1} ;;
    \'*) quote=\' typed=\${typed:1} ;;
  esac
  # A quote in the middle of a word: readline would replace only what stands behind it.
  if [[ \${typed//\\?/} == *[\"\']* ]]; then return; fi
  if [[ $quote != \' ]]; then typed=\${typed//\\/}; fi
  # Readline replaces only what stands after the last = or :, unless they do not cut words here.
  rest=$head
  if [[ -z $quote ]]; then rest=$head$2; fi
  while [[ $rest == *[=:]* ]]; do
    value=\${rest##*[=:]}
    strip=\${rest%"$value"}
    if [[ $COMP_WORDBREAKS == *"\${strip: -1}"* ]]; then break; fi
    rest=\${strip%?}
    strip=
  done
  case $1 in
    files) compopt -o default 2>/dev/null ;;
    directories) compopt -o dirnames 2>/dev/null ;;
    words:* | ask:*)
      while IFS=$'\t' read -r value rest; do
        if [[ -z $value || $value != "$typed"* ]]; then continue; fi
        case $quote in
          \") value=\${value//\\/\\\\} value=\${value//\"/\\\"} value=\${value//\$/\\\$} full=\${value//$tick/\\$tick} ;;
          \') full=\${value//\'/\'\\\'\'} ;;
          *) printf -v full '%s%q' "$head" "$value" ;;
        esac
        COMPREPLY+=("\${full#"$strip"}")
      done < <(_gmn_values "$1")
      # A template may be a file, too.
      if [[ $1 == ask:templates && \${#COMPREPLY[@]} == 0 ]]; then compopt -o default 2>/dev/null; fi
      ;;
  esac
}

_gmn_values() {
  local IFS=' '
  case $1 in
    words:*) printf '%s\n' \${1#words:} ;;
    ask:*) command gmn __complete "\${1#ask:}" "$before" 2>/dev/null ;;
  esac
}

_gmn() {
  local REPLY= at=gmn pending= word current before= count=0 i last
  local -a words
  COMPREPLY=()
  _gmn_words
  last=$((\${#words[@]} - 1))
  for ((i = 1; i < last; i++)); do
    word=\${words[i]}
    if [[ -n $pending ]]; then
      pending=
      continue
    fi
    case $word in
      --) return ;;
      --*=*) ;;
      --*) _gmn_takes "$at" "$word" && pending=$REPLY ;;
      -?*) _gmn_letters "$at" "$word" && pending=$REPLY ;;
      *)
        _gmn_commands "$at"
        if ((count == 0)) && [[ " $REPLY " == *" $word "* ]]; then
          at+=" $word"
          continue
        fi
        count=$((count + 1))
        # Without its quotes: what comes next may depend on it.
        before=\${word//[\\\'\"]/}
        _gmn_word "$at" "$count"
        # What follows is for the program of this name.
        if [[ $REPLY == rest && $word != http*://* ]]; then
          _gmn_offer files "\${words[last]}" ''
          return
        fi
        ;;
    esac
  done
  current=\${words[last]}
  if [[ -n $pending ]]; then
    _gmn_offer "$pending" "$current" ''
  elif [[ $current == --*=* ]]; then
    _gmn_takes "$at" "\${current%%=*}"
    _gmn_offer "$REPLY" "\${current#*=}" "\${current%%=*}="
  elif [[ $current == -* ]]; then
    _gmn_flags "$at"
    _gmn_offer "words:$REPLY" "$current" ''
  else
    if ((count == 0)); then
      _gmn_commands "$at"
      _gmn_offer "words:$REPLY" "$current" ''
    fi
    _gmn_word "$at" "$count"
    _gmn_offer "$REPLY" "$current" ''
  fi
}

if ((BASH_VERSINFO[0] < 4)); then
  complete -o default -F _gmn gmn
else
  complete -F _gmn gmn
fi
`.replaceAll('\\${', '${');
