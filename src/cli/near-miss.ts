import { editDistance } from '../core/edit-distance.ts';
import { AppError } from '../core/error.ts';
import type { Outline } from './outline.ts';

/** What is a command of many other programs, and where gmn has it. */
const ELSEWHERE: Readonly<Record<string, string>> = { version: 'gmn --version', login: 'gmn help auth' };

/**
 * Stops a mistyped command from being sent to the model. A word followed by a sub-command of the command it
 * resembles is refused; a lone word, or one that other programs have for a command, only if a person sits there, since a script may well ask about one word.
 * Throws AppError `usage`.
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

function resembles(word: string, name: string): boolean {
  const slips = name.length <= 4 ? 1 : 2;
  // Lengths that far apart spare the measuring.
  if (word === name || Math.abs(word.length - name.length) > slips) return false;
  return editDistance(word, name) <= slips;
}
