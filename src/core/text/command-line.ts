/** The words of one program, its name first. */
export type CommandPart = readonly [program: string, ...words: string[]];

/** Unquoted characters that mean themselves in every POSIX shell; `~` and `^` only after one that cannot begin a pattern. */
const PLAIN = /[\w@%+=:,./-]+|(?<=[A-Za-z0-9~^])[~^]/y;
/** Without control characters. In double quotes also without what a shell would replace. */
const QUOTED = /'([^'\p{Cc}]*)'|"([^"$`\\\p{Cc}]*)"/uy;
const BLANK = /[ \t]+/y;
const OPERATOR = /&&|\|\||[;|]/y;

/**
 * Builtins and reserved words that run other words, or change what the words after them mean: `cd` moves `./test`, `printf -v`
 * sets PATH, `test -v` evaluates its argument.
 */
const UNCLEAR_WORDS: ReadonlySet<string> = new Set(
  `. : - [ alias always autoload bg bind break builtin bye caller case cd chdir command compgen complete compound
  continue coproc declare dirs disable disown do done elif else emulate enable end enum esac eval exec exit export fc fg
  fi float for foreach function functions getln getopts hash hist history if in integer jobs let limit local logout
  mapfile nameref nocorrect noglob popd print printf pushd pushln r read readarray readonly redirect rehash repeat return
  sched select set setopt shift shopt source suspend test then time times trap ttyctl type typeset ulimit umask unalias
  unfunction unhash unlimit unset unsetopt until vared wait whence where while zcompile zle zmodload zparseopts zstyle`.split(
    /\s+/,
  ),
);

/**
 * The programs that a command line runs, one after the other, with their words; undefined unless all of it is understood, in
 * every POSIX shell alike. Not understood are, among others: substitution, redirection, assignments, patterns, braces, a tilde, escapes,
 * comments, groups, the background, line breaks, characters beyond ASCII outside of quotes, and builtins that change the shell.
 */
export function parseShellLine(line: string): readonly CommandPart[] | undefined {
  const parts: CommandPart[] = [];
  let words: string[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(line);
    at += found?.[0].length ?? 0;
    return found;
  };
  const takeWord = (): string | undefined => {
    let word: string | undefined;
    for (;;) {
      const [whole, single, double] = take(PLAIN) ?? take(QUOTED) ?? [];
      if (whole === undefined) return word;
      word = (word ?? '') + (single ?? double ?? whole);
    }
  };
  const endPart = (): boolean => {
    const [program = '', ...others] = words;
    words = [];
    parts.push([program, ...others]);
    return program !== '' && !program.includes('=') && !UNCLEAR_WORDS.has(program);
  };
  while (at < line.length) {
    take(BLANK);
    // At the start of a word zsh replaces the name of a program by its path.
    if (at >= line.length || line[at] === '=') break;
    const word = takeWord();
    if (word !== undefined) words.push(word);
    else if (take(OPERATOR) === null || !endPart()) return undefined;
  }
  return at >= line.length && endPart() ? parts : undefined;
}

export function beginsWith(part: readonly string[], words: readonly string[]): boolean {
  return words.every((word, index) => part[index] === word);
}

/** `/bin/rm` is `rm`. */
function takeName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}

/** All that a rule may call it. */
export function listProgramNames(program: string): readonly string[] {
  return [...new Set([program, takeName(program), toBareName(program)])];
}

/** Which program it is depends on the directory. */
export function isRelativeProgram(program: string): boolean {
  return program.includes('/') && !program.startsWith('/');
}

/** Windows and macOS find a program in any case, Windows also without its ending. */
export function toBareName(program: string): string {
  return takeName(program)
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|com|ps1)$/, '');
}
