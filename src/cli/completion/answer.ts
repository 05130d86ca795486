import type { Candidate } from '../../core/flag.ts';
import { formatBashWords, splitBashLine, unquoteBash } from './bash.ts';
import type { PlannedCommand } from './plan.ts';
import { type Completion, resolveCompletion } from './resolve.ts';
import type { Shell } from './script.ts';

/** What one Tab asks for. As JSON it is handed to the run that reads the list. */
export interface TabRequest {
  readonly shell: Shell;
  /** Where bash cuts words. */
  readonly breaks: string;
  readonly completion: Completion;
}

/**
 * The words behind `gmn __complete`: a shell, then for bash where it cuts words and the line up to the cursor, for the
 * others the words of the line, `gmn` first and the typed one last. Undefined if no shell of ours asks.
 */
export function resolveTab(
  [shell = '', ...given]: readonly string[],
  plan: readonly PlannedCommand[],
): TabRequest | undefined {
  if (!isAnswered(shell)) return undefined;
  if (shell === 'bash') {
    const [breaks = '', line = ''] = given;
    const { words, typed } = splitBashLine(line);
    const completion = resolveCompletion(plan, words.slice(1), typed);
    return { shell, breaks, completion: completion.head.endsWith('@') ? listMentions(completion) : completion };
  }
  return { shell, breaks: '', completion: resolveCompletion(plan, given.slice(1, -1), given.at(-1) ?? '') };
}

/** Readline completes no path behind an `@`, and replaces all that is in quotes: the candidates are such texts. */
function listMentions({ head, typed: path, ...completion }: Completion): Completion {
  const [flag = ''] = /^--[^=\s]+=/.exec(head) ?? [];
  const typed = `${head.slice(flag.length)}${path}`;
  return { ...completion, head: flag, typed, paths: 'none', list: { name: 'mentions', before: unquoteBash(typed) } };
}

/** One line for the paths that the shell adds and what stands before them, then one for each candidate. */
export function formatTabAnswer({ shell, breaks, completion }: TabRequest, found: readonly Candidate[]): string {
  const candidates = [...completion.candidates, ...found];
  const first = shell === 'bash' ? completion.paths : `${completion.paths}\t${completion.head}`;
  return [first, ...FORMATS[shell](completion, candidates, breaks)].map((line) => `${line}\n`).join('');
}

type Format = (completion: Completion, candidates: readonly Candidate[], breaks: string) => readonly string[];

const FORMATS: Readonly<Record<Shell, Format>> = {
  bash: formatBashWords,
  // In the form of _describe, which cuts at the first colon.
  zsh: (_, candidates) =>
    candidates.map(({ value, about }) => {
      const escaped = value.replace(/[\\:]/g, (sign) => `\\${sign}`);
      return about === '' ? escaped : `${escaped}:${about}`;
    }),
  fish: ({ head }, candidates) =>
    candidates.map(({ value, about }) => (about === '' ? `${head}${value}` : `${head}${value}\t${about}`)),
  powershell: ({ head, typed }, candidates) => {
    const plain = typed.replace(/^['"]+|['"]+$/g, () => '');
    return candidates
      .filter(({ value }) => value.startsWith(plain))
      .map(({ value, about }) => `${head}${quoteForPowerShell(value)}\t${value}\t${about || value}`);
  },
};

function isAnswered(shell: string): shell is Shell {
  return Object.hasOwn(FORMATS, shell);
}

/** PowerShell takes curly quotes for straight ones. */
function quoteForPowerShell(value: string): string {
  return /^[\w./=-]+$/.test(value) ? value : `'${value.replace(/['\u2018-\u201b]/g, (sign) => sign + sign)}'`;
}
