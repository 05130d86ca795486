/** The shells that `gmn completion` writes a script for, and the ending of its file in `dist/completion`. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

/** Whether a word is the name of such a shell. */
export function isShell(word: string): word is Shell {
  return SHELLS.some((shell) => shell === word);
}
