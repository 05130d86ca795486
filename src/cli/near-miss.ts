import { AppError } from '../core/error.ts';
import { editDistance } from '../core/text/names.ts';
import type { Outline } from './outline.ts';

/** What is a command of many other programs, and where gmn has it. */
const ELSEWHERE: Readonly<Record<string, string>> = { version: 'gmn --version', login: 'gmn help auth' };

const NO_EXTENSIONS = 'gmn has no extensions; the MCP servers of one can be used: gmn mcp add --help';
const NO_SKILLS =
  'gmn has no skills; what a model should know goes into GEMINI.md, or a template: gmn templates --help';
const NO_HOOKS = 'gmn runs no hooks';

/**
 * The commands of the official CLI that gmn lacks: why, and their sub-commands, each with how many words it takes at most.
 * More words than that are a sentence.
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
  skills: [NO_SKILLS, { list: 0, enable: 1, disable: 1, install: 1, link: 1, uninstall: 1 }],
  hooks: [NO_HOOKS, { migrate: 0 }],
  gemma: ['gmn starts no local models', { setup: 0, start: 0, stop: 0, status: 0, logs: 0 }],
};

/**
 * Stops a mistyped command from being sent to the model. A word followed by a sub-command of the command it
 * resembles is refused, and so is a command of the official CLI that gmn lacks; a lone word, or one that other programs
 * have for a command, only if a person sits there, since a script may well ask about one word. Throws AppError `usage`.
 */
export function guardNearMiss(
  { commands, groups }: Pick<Outline, 'commands' | 'groups'>,
  words: readonly string[],
  isAttended: () => boolean,
): void {
  const [word, next] = words;
  if (word === undefined) return;
  const elsewhere = words.length === 1 && Object.hasOwn(ELSEWHERE, word) ? ELSEWHERE[word] : undefined;
  if (elsewhere !== undefined && isAttended()) {
    throw new AppError('usage', `there is no command "${word}". Run: ${elsewhere}`, {
      hint: `To send it as a prompt: gmn -p "${word}"`,
    });
  }
  const official = Object.hasOwn(OFFICIAL, word) ? OFFICIAL[word] : undefined;
  if (official !== undefined && isOfficial(official[1], words.slice(1), isAttended)) {
    const command = ['gemini', ...words.slice(0, 2)].join(' ');
    throw new AppError('usage', `"${command}" is a command of the official CLI: ${official[0]}`, {
      hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
  for (const [name, below] of Object.entries(commands)) {
    // Most prompts are of many words: they are told apart without measuring anything.
    if (words.length > 1 && !below.some((child) => child === next)) continue;
    if (!resembles(word, name) || (words.length === 1 && !isAttended())) continue;
    const rest = words.length === 1 && groups.includes(name) ? ['--help'] : words.slice(1);
    const meant = [name, ...rest].join(' ');
    throw new AppError('usage', `"${word}" looks like the command "${name}". Run: gmn ${meant}`, {
      hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
}

function isOfficial(
  below: Readonly<Record<string, number>>,
  [next, ...more]: readonly string[],
  isAttended: () => boolean,
): boolean {
  if (next === undefined) return isAttended();
  return Object.hasOwn(below, next) && more.length <= (below[next] ?? 0);
}

function resembles(word: string, name: string): boolean {
  const slips = name.length <= 4 ? 1 : 2;
  // Lengths that far apart spare the measuring.
  if (word === name || Math.abs(word.length - name.length) > slips) return false;
  return editDistance(word, name) <= slips;
}
