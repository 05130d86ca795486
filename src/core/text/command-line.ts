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
  `aa-exec abduco ansible arch ash asdf at authbind aws-vault bash batch bunx busybox capsh catchsegv cgexec chamber chpst
  chronic chroot chrt cmd concurrently conda cpulimit cross-env cscript csh daemonize dash dbus-run-session direnv distrobox
  doas docker doppler dotenv dotenvx dtach dumb-init eatmydata entr env envchain envdir expect fakechroot fakeroot faketime
  find firejail fish flatpak flock fnm forfiles gdb gosu guix hatch hyperfine i386 ifne ionice ksh kubectl launchctl linux32
  linux64 lldb ltrace mamba micromamba mise mksh mosh mshta nc ncat nerdctl nice nix nix-shell nodemon nohup npm-run-all npx
  nsenter numactl op parallel pdm perf pipenv pipx pixi pkexec pm2 pnpx podman powershell prlimit proot proxychains pwsh
  pyenv rbenv reflex rlwrap run-p run-parts run-s runcon rundll32 runuser rye schroot screen script sem setarch setlock
  setpriv setsid setuidgid sg sh socat softlimit ssh sshpass start start-stop-daemon stdbuf strace su su-exec sudo
  systemd-inhibit systemd-nspawn systemd-run taskset tcsh time timeout tini tmux toolbox torify torsocks toybox trickle tsocks
  uftrace unbuffer unshare uvx vagrant valgrind volta watch watchexec wine winpty wscript wsl x86_64 xargs xterm xvfb-run
  yash zsh`.split(/\s+/),
);

/** Their options or scripts name other programs, or files to write: no word before these limits them. */
const UNLIMITED: ReadonlySet<string> = new Set(
  `ant awk crontab curl dc dd ed emacs emacsclient ex ftp gawk gnuplot hg less man mawk more msbuild mvn mysql nano nawk node nodejs nvim octave openssl
  psql rg rsync scp sed sftp socket sort split sqlite svn tar tcpdump tee vi view vim vimdiff wget zip`.split(/\s+/),
);

/** What they run is in their first argument: only with one that is a plain name, as of a script, they are limited. */
const INTERPRETERS: ReadonlySet<string> = new Set(
  `clisp clojure dart elixir erl escript gjs gradle groovy guile irb java jruby julia lua luajit make gmake mono nim ninja osascript perl php
  python qjs racket raku rscript ruby runghc sbcl scala swift tclsh ts-node tsx wish xonsh zx`.split(/\s+/),
);

const SCRIPTS = `audit build check clean compile coverage dev e2e fmt format lint list ls outdated preview run run-script start stop t test tests tst typecheck
  type-check unit version view why`;

/** Of these only some commands: others run what follows, bring a program along, or may be abbreviated to such a one. */
const LIMITED: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    git: `add blame branch cat-file check-ignore checkout cherry cherry-pick commit count-objects describe diff for-each-ref
      fsck log ls-files ls-tree merge merge-base mv name-rev reflog reset restore rev-list rev-parse revert rm shortlog show stash status switch
      tag whatchanged`,
    ...{ npm: SCRIPTS, pnpm: SCRIPTS, yarn: SCRIPTS, bun: 'build pm run test' },
    ...{
      deno: 'check fmt lint task',
      cargo: 'b bench build c check clean clippy d doc fmt metadata r run t test tree',
    },
    ...{
      go: 'build doc fmt list mod test version vet',
      dotnet: 'build clean format list test',
      mix: 'compile format test',
    },
    ...{ pip: 'check freeze list show', uv: 'lock tree', poetry: 'check show', bundle: 'check list outdated show' },
    ...{
      composer: 'outdated show validate',
      gem: 'list outdated',
      r: '',
      gh: 'issue pr release repo run status workflow',
    },
  }).map(([program, seconds]) => [program, new Set(seconds.split(/\s+/))]),
);

/** Arguments by which these run another program, or write a file: whoever allows their first words does not mean that. */
const HANDING: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    git: /^--(?:ou|ext-d)/,
    // npm takes options with one dash, and cut short.
    ...{ npm: /^-+(?:scr|node-|shell)/i, pnpm: /^-+(?:scr|node-|shell)/i, yarn: /^-+(?:scr|node-|shell)/i },
    ...{ go: /^-+(?:exec|toolexec|vettool|overlay|ldflags|gc\w*flags|asmflags|modfile)/, cargo: /^(?:--config|-Z)/ },
    // A variable of the command line replaces what the file says, its shell as well.
    ...{ make: /^-+(?!(?:[kBsn]|j\d*)$)|=/, gmake: /^-+(?!(?:[kBsn]|j\d*)$)|=/, ninja: /^-+[Cft]/ },
  }),
);

/** Of git: what stands before its command may be a setting, and a setting may be a program. */
const HARMLESS_FIRST = /^(?:[^-]|--no-pager$|-P$|--version$|--help$)/;

/** Whether words that are allowed by their beginning tell the program to run another one, as far as that is known. */
export function handsOver([program, ...words]: CommandPart): boolean {
  const name = toBareName(program);
  if (words.some((word) => /\$[({]|`/.test(word) || HANDING.get(name)?.test(word))) return true;
  return name === 'git' && !HARMLESS_FIRST.test(words[0] ?? 'a');
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

export function isWrapper(program: string): boolean {
  return isProgramIn(program, WRAPPERS);
}

/** Windows and macOS find a program in any case, Windows also without its ending. */
function toBareName(program: string): string {
  return takeName(program)
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|com|ps1)$/, '');
}

/** Also by its version: `python3.12` is `python`. */
function isProgramIn(program: string, list: Pick<ReadonlySet<string>, 'has'>): boolean {
  return list.has(toBareName(program)) || list.has(trimVersion(program));
}

function trimVersion(program: string): string {
  return trimTrailing(toBareName(program), '0123456789.-');
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
  if (!isPlain && (isProgramIn(program, INTERPRETERS) || isProgramIn(program, LIMITED))) return undefined;
  const seconds = LIMITED.get(toBareName(program)) ?? LIMITED.get(trimVersion(program));
  if (seconds !== undefined && !seconds.has(second)) return undefined;
  return isPlain ? [program, second] : [program];
}
