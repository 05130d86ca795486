import { trimTrailing } from './trim.ts';

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

/** Shells, and what runs the words after it: who allows one of these allows everything. */
const WRAPPERS: ReadonlySet<string> = new Set(
  `ash bash bunx busybox chroot chrt csh dash dbus-run-session doas docker entr env expect fakeroot find firejail fish flatpak flock gdb ionice
  ksh kubectl ltrace mksh nerdctl nice nohup npx nsenter numactl parallel perf pipx pkexec pnpx podman proot pwsh rlwrap run-parts runuser
  screen script setpriv setsid sh ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset tcsh timeout tmux toybox uvx
  unbuffer unshare valgrind watch wsl xargs xvfb-run zsh`.split(/\s+/),
);

/** Their options name other programs, or files to write: no word before these limits them. */
const UNLIMITED: ReadonlySet<string> = new Set(
  `awk curl dd ed emacs ex gawk less man mawk mysql nano nawk nvim psql rg rsync scp sed sftp sort sqlite tar tee vi view vim
  wget zip`.split(/\s+/),
);

/** What they run is in their first argument: only with one that is a plain name they are limited. */
const INTERPRETERS: ReadonlySet<string> = new Set(
  `ansible bun cargo deno git go gradle java lua make ninja node nodejs npm osascript perl php pip pnpm poetry python R ruby
  tclsh uv yarn`.split(/\s+/),
);

/** Their second word says that what follows is a program, or brings one along. */
const RUNNING: ReadonlySet<string> = new Set(
  [
    'git archive bisect clone config difftool fetch filter-branch grep ls-remote mergetool pull push rebase submodule',
    ...['npm create exec explore init x', 'pnpm create dlx exec init node', 'yarn create dlx exec init node'],
    ...['bun create exec init x', 'deno eval install repl run', 'cargo install', 'go generate get install run tool'],
    ...['pip install', 'pip3 install', 'poetry run', 'uv run tool'],
  ].flatMap((line) => {
    const [program, ...seconds] = line.split(' ');
    return seconds.map((second) => `${program} ${second}`);
  }),
);

/** `/bin/rm` is `rm`. */
export function takeName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}

export function isWrapper(program: string): boolean {
  return isProgramIn(program, WRAPPERS);
}

/** Also by its version: `python3.12` is `python`. */
function isProgramIn(program: string, list: ReadonlySet<string>): boolean {
  const name = takeName(program);
  return list.has(name) || list.has(trimTrailing(name, '0123456789.-'));
}

const PLAIN_PROGRAM = /^[\w./+-]+$/;
const PLAIN_WORD = /^[A-Za-z][\w:-]*$/;
/** The words stand in the row of keys. */
const MAX_WORD = 40;

/**
 * The words by which commands like this one can be allowed: the program and, where that is a plain word, its first argument. Undefined if that
 * would allow to run anything, or the line is not understood, or runs more than one program.
 */
export function findAllowableWords(line: string): readonly string[] | undefined {
  const [part, ...others] = parseShellLine(line) ?? [];
  if (part === undefined || others.length > 0) return undefined;
  const [program, second = ''] = part;
  if (
    isWrapper(program) ||
    isProgramIn(program, UNLIMITED) ||
    !PLAIN_PROGRAM.test(program) ||
    program.length > MAX_WORD
  )
    return undefined;
  const isPlain = PLAIN_WORD.test(second) && second.length <= MAX_WORD;
  const isRunning = isProgramIn(program, INTERPRETERS) && (!isPlain || RUNNING.has(`${takeName(program)} ${second}`));
  if (isRunning) return undefined;
  return isPlain ? [program, second] : [program];
}
