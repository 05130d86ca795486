import { encodeValues, type PlannedCommand } from './plan.ts';

/** For fish 3 and newer. */
export function fishScript(plan: readonly PlannedCommand[]): string {
  return `# Completion of gmn for fish, made by: gmn completion fish

# Each prints what the command $argv[1] has: its commands, its flags, what its flag $argv[2] takes, what its word number $argv[2] is.
function __gmn_commands
    switch $argv[1]
${formatFishCases(plan, ({ commands }) => commands.flatMap(({ name, summary }) => [name, summary]))}
    end
end
function __gmn_flags
    switch $argv[1]
${formatFishCases(plan, ({ flags }) => flags.flatMap(({ names, help }) => names.flatMap((name) => [name, help])))}
    end
end
function __gmn_takes
    switch "$argv"
${plan.flatMap(formatFishFlagValues).join('\n')}
    end
end
function __gmn_word
    switch "$argv"
${plan.flatMap(formatFishArguments).join('\n')}
        case '*'
            echo free
    end
end
${ENGINE}`;
}

function formatFishCases(
  plan: readonly PlannedCommand[],
  listItems: (command: PlannedCommand) => readonly string[],
): string {
  return plan
    .map((command) => ({ path: command.path, items: listItems(command) }))
    .filter(({ items }) => items.length > 0)
    .map(
      ({ path, items }) => `        case '${path}'\n            printf '%s\\t%s\\n' ${items.map(quoteFish).join(' ')}`,
    )
    .join('\n');
}

function formatFishFlagValues({ path, flags }: PlannedCommand): readonly string[] {
  return flags.flatMap(({ names, values }) =>
    values === undefined
      ? []
      : `        case ${names.map((name) => `'${path} ${name}'`).join(' ')}\n            echo ${quoteFish(encodeValues(values))}`,
  );
}

function formatFishArguments({ path, words: found, repeats }: PlannedCommand): readonly string[] {
  return found.map((values, index) => {
    // A pattern would match subcommands too, so nine positions are listed; nobody needs completion beyond that.
    const last = repeats && index === found.length - 1 ? 9 : index;
    const positions = Array.from({ length: last - index + 1 }, (_, more) => `'${path} ${index + more}'`);
    return `        case ${positions.join(' ')}\n            echo ${quoteFish(encodeValues(values))}`;
  });
}

function quoteFish(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}

const ENGINE = String.raw`
# Prints what the last of the letters in $argv[2] (-qm) takes from the next word.
function __gmn_letters
    set -l letters (string split '' -- (string sub -s 2 -- $argv[2]))
    for index in (seq (count $letters))
        set -l takes (__gmn_takes $argv[1] -$letters[$index])
        if test -n "$takes"
            test $index -eq (count $letters); and echo $takes
            return
        end
    end
end

# Prints what $argv[1] says may stand where $argv[2] is typed; $argv[3] is the flag before it, as in --flag=value; $argv[4] the word before.
function __gmn_offer
    switch $argv[1]
        case 'words:*'
            printf "$argv[3]%s\n" (string split -n ' ' -- (string sub -s 7 -- $argv[1]))
        case 'ask:*'
            string replace -r '^' -- "$argv[3]" (command gmn __complete (string sub -s 5 -- $argv[1]) "$argv[4]" 2>/dev/null)
            # A template may be a file, too.
            test $argv[1] = ask:templates; and __gmn_offer files $argv[2] "$argv[3]"
        case files
            string replace -r '^' -- "$argv[3]" (__fish_complete_path $argv[2])
        case directories
            string replace -r '^' -- "$argv[3]" (__fish_complete_directories $argv[2])
    end
end

function __gmn_complete
    set -l at gmn
    set -l pending ''
    set -l count 0
    set -l before ''
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for word in $words[2..-1]
        if test -n "$pending"
            set pending ''
            continue
        end
        switch $word
            case --
                return
            case '--*=*'
            case '--*'
                set pending (__gmn_takes $at $word)
            case '-?*'
                set pending (__gmn_letters $at $word)
            case '*'
                if test $count -eq 0; and contains -- $word (__gmn_commands $at | string replace -r '\t.*' '')
                    set at "$at $word"
                else
                    set count (math $count + 1)
                    set before $word
                    # What follows is for the program of this name.
                    if test (__gmn_word $at $count) = rest; and not string match -q 'http*://*' -- $word
                        __gmn_offer files $current ''
                        return
                    end
                end
        end
    end
    if test -n "$pending"
        __gmn_offer $pending $current ''
    else if string match -q -- '--*=*' $current
        set -l parts (string split -m 1 = -- $current)
        set -l takes (__gmn_takes $at $parts[1])
        test -n "$takes"; and __gmn_offer $takes $parts[2] "$parts[1]="
    else if string match -q -- '-*' $current
        __gmn_flags $at
    else
        test $count -eq 0; and __gmn_commands $at
        __gmn_offer (__gmn_word $at $count) $current '' $before
    end
end

complete -c gmn -f
complete -c gmn -a '(__gmn_complete)'
`;
