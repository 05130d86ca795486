import { AppError } from '../core/error.ts';
import { measureEditDistance } from '../core/text/names.ts';
import type { Outline } from './invocation.ts';

const SIGN_IN = 'To sign in: gmn auth set-key, or: gmn help auth';
const NO_UPDATE = 'gmn does not update itself; how to do it, as it is installed here: gmn doctor';
const SERVERS = 'Run: gmn mcp serve, or: gmn demo serve';
const NOTHING_OPEN = 'There is nothing to leave: that is for the chat';
const JUST_ASK = 'The words after gmn are the prompt: gmn "…"';
const LISTED_AGENTS = 'Run: gmn doctor, which lists the sub-agents';
const NO_PLUGINS = 'gmn has no plugins; MCP servers add to it: gmn mcp add --help';

/** Words that are commands in other programs, and what to do here. A word that becomes a command of gmn never gets here. */
const OTHER_COMMANDS: Readonly<Record<string, string>> = {
  version: 'Run: gmn --version',
  login: SIGN_IN,
  signin: SIGN_IN,
  setup: SIGN_IN,
  logout: 'Run: gmn auth logout',
  whoami: 'Run: gmn auth status',
  status: 'Run: gmn auth status, or: gmn doctor',
  key: 'Run: gmn auth set-key',
  keys: 'Run: gmn auth set-key; the keys of the chat: gmn help keys',
  update: NO_UPDATE,
  upgrade: NO_UPDATE,
  init: 'Run: gmn chat, and there: /init; settings: gmn config list',
  settings: 'Run: gmn config list',
  stats: 'Run: gmn usage',
  cost: 'Run: gmn usage',
  exit: NOTHING_OPEN,
  quit: NOTHING_OPEN,
  history: 'Run: gmn sessions list',
  logs: 'Run: gmn sessions list',
  list: 'Run: gmn sessions list, gmn models or gmn mcp list',
  resume: 'Run: gmn chat -r, or: gmn -r last "…"',
  continue: 'Run: gmn -c "…", or: gmn chat -c',
  export: 'Run: gmn sessions export last talk.html',
  serve: SERVERS,
  server: SERVERS,
  tools: 'Run: gmn help tools; in a prompt: gmn --tools read "…"',
  roles: 'Run: gmn templates list',
  prompts: 'Run: gmn templates list',
  commands: 'Run: gmn -h',
  repl: 'Run: gmn chat',
  new: 'Run: gmn chat',
  start: 'Run: gmn chat',
  interactive: 'Run: gmn chat',
  clear: 'Every gmn chat begins anew; in a chat: /clear',
  fork: 'Run: gmn chat -r --fork',
  review: 'Run: git diff | gmn --template review',
  apply: 'With --tools edit the model changes the files itself; to take that back: gmn undo',
  install: NO_UPDATE,
  'setup-token': SIGN_IN,
  plugin: NO_PLUGINS,
  plugins: NO_PLUGINS,
  agents: `${LISTED_AGENTS}; in a chat: /agents`,
  memory: 'In a chat: /memory',
  uninstall: 'To remove gmn: npm uninstall -g gmn, then delete ~/.gmn if you want its sessions and settings gone',
  exec: JUST_ASK,
  e: JUST_ASK,
  run: JUST_ASK,
  ask: JUST_ASK,
  prompt: JUST_ASK,
};

export function findOtherCommandAdvice(word: string): string | undefined {
  return Object.hasOwn(OTHER_COMMANDS, word) ? OTHER_COMMANDS[word] : undefined;
}

const NO_EXTENSIONS =
  'gmn installs no extensions; it uses those that the official CLI has installed: gmn doctor lists them';
const NO_MEMORY = 'gmn keeps memory in AGENTS.md files; in a chat: /memory';

/**
 * The commands of the official CLI that gmn lacks: why, and their subcommands with the most words each takes. More
 * words than that are a prompt.
 */
const OFFICIAL: Readonly<Record<string, readonly [why: string, below: Readonly<Record<string, number>>]>> = {
  extensions: [
    NO_EXTENSIONS,
    {
      install: 1,
      uninstall: Number.POSITIVE_INFINITY,
      list: 0,
      update: 1,
      disable: 1,
      enable: 1,
      link: 1,
      new: 2,
      validate: 1,
      config: 2,
    },
  ],
  agents: [LISTED_AGENTS, { list: 0, reload: 0 }],
  memory: [NO_MEMORY, { list: 0, show: 0, refresh: 0, reload: 0 }],
  gemma: ['gmn starts no local models', { setup: 0, start: 0, stop: 0, status: 0, logs: 0 }],
};

/**
 * Stops a mistyped command from being sent to the model. Rejects a word followed by a subcommand of the command it
 * resembles, and commands of the official CLI that gmn lacks. A lone word is rejected where `isInteractive`: somebody
 * can type it again, or nothing but the word would be sent. Throws AppError `usage`.
 */
export function guardNearMiss(
  { commands, groups }: Pick<Outline, 'commands' | 'groups'>,
  words: readonly string[],
  isInteractive: () => boolean,
): void {
  const [word, next] = words;
  if (word === undefined) return;
  const elsewhere = words.length === 1 ? findOtherCommandAdvice(word) : undefined;
  if (elsewhere !== undefined && isInteractive()) throw otherCommandError(word, elsewhere);
  // `codex exec "fix the tests"`: a command, then the prompt in quotes.
  const isQuoted = /\s/.test(next ?? '');
  const isAsking = words.length === 2 && findOtherCommandAdvice(word) === JUST_ASK;
  if (isAsking && (word === 'exec' ? isQuoted || isInteractive() : isQuoted && isInteractive())) {
    throw new AppError(
      'usage',
      `gmn needs no "${word}": the words after it are the prompt. Run: gmn --tools edit "…"`,
      {
        hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
      },
    );
  }
  const official = Object.hasOwn(OFFICIAL, word) ? OFFICIAL[word] : undefined;
  if (official !== undefined && isOfficialCommand(official[1], words.slice(1), isInteractive)) {
    const command = ['gemini', ...words.slice(0, 2)].join(' ');
    throw new AppError('usage', `"${command}" is a command of the official CLI`, {
      hint: `${official[0]}\nTo send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
  for (const [name, below] of Object.entries(commands)) {
    // Most prompts have many words; this skips them without computing an edit distance.
    if (words.length > 1 && !below.some((child) => child === next)) continue;
    if (!resembles(word, name) || (words.length === 1 && !isInteractive())) continue;
    const rest = words.length === 1 && groups.includes(name) ? ['--help'] : words.slice(1);
    const meant = [name, ...rest].join(' ');
    throw new AppError('usage', `"${word}" looks like the command "${name}". Run: gmn ${meant}`, {
      hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
  if (words.length > 1 || !isInteractive()) return;
  // Short names resemble too many everyday words.
  const near = Object.keys(OTHER_COMMANDS).find((name) => name.length >= 5 && isSlipOf(1, word, name));
  if (near !== undefined) throw otherCommandError(word, OTHER_COMMANDS[near] ?? '');
}

function otherCommandError(word: string, advice: string): AppError {
  return new AppError('usage', `there is no command "${word}"`, {
    hint: `${advice}\nTo send it as a prompt: gmn -p "${word}"`,
  });
}

/** The same for what is typed where gmn asks for a prompt: there, a command itself is a slip too. Throws AppError `usage`. */
export function guardTypedCommand(outline: Parameters<typeof guardNearMiss>[0], typed: string): void {
  const words = typed.replace(/^gmn\s+/, '').split(/\s+/);
  const [name = '', next] = words;
  const below = Object.hasOwn(outline.commands, name) ? outline.commands[name] : undefined;
  if (below !== undefined && (next === undefined || below.includes(next))) {
    throw new AppError('usage', `"${words.join(' ')}" is a command of the shell. Run: gmn ${words.join(' ')}`, {
      hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
  guardNearMiss(outline, words, () => true);
}

function isOfficialCommand(
  below: Readonly<Record<string, number>>,
  [next, ...more]: readonly string[],
  isInteractive: () => boolean,
): boolean {
  if (next === undefined) return isInteractive();
  return Object.hasOwn(below, next) && more.length <= (below[next] ?? 0);
}

function resembles(word: string, name: string): boolean {
  // Too many everyday words are two letters away from a short name, as trash is from trust.
  return isSlipOf(name.length <= 5 ? 1 : 2, word, name);
}

function isSlipOf(slips: number, word: string, name: string): boolean {
  if (word === name || Math.abs(word.length - name.length) > slips) return false;
  // Each slip explains one foreign letter. Nearly every word stops here, before the edit distance is measured.
  let foreign = 0;
  for (const letter of word) if (!name.includes(letter)) foreign += 1;
  return foreign <= slips && measureEditDistance(word, name) <= slips;
}
