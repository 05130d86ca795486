import { AppError } from '../core/error.ts';
import type { Command } from './flag.ts';

/**
 * Stops a mistyped command from being sent to the model. A word followed by a sub-command of the command it
 * resembles is refused; a lone word only if a person sits there, since a script may well ask about one word.
 * Throws AppError `usage`.
 */
export function guardNearMiss(root: Command, words: readonly string[], isAttended: () => boolean): void {
  const [word, next] = words;
  if (word === undefined) return;
  for (const command of root.subcommands ?? []) {
    if (!resembles(word, command.name)) continue;
    const isFollowed = command.subcommands?.some(({ name }) => name === next) ?? false;
    if (words.length > 1 ? !isFollowed : !isAttended()) continue;
    const meant = [command.name, ...words.slice(1)].join(' ');
    throw new AppError('usage', `"${word}" looks like the command "${command.name}". Run: gmn ${meant}`, {
      hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
}

function resembles(word: string, name: string): boolean {
  return word !== name && editDistance(word, name) <= (name.length <= 4 ? 1 : 2);
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
export function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(replaced, at(i - 1, j) + 1, at(i, j - 1) + 1, isSwap ? at(i - 2, j - 2) + 1 : replaced));
    }
  }
  return at(a.length, b.length);
}
