import { AppError } from '../error.ts';

type ShellKind = 'posix' | 'pwsh' | 'batch';

/** Shells that understand what models write; fish does not. */
const POSIX_SHELLS = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh', 'mksh']);

/** By the program's name: how any other one reads a line is not known. */
export function findShellKind(program: string): ShellKind | undefined {
  const name = program.replace(/^.*[\\/]/, '').toLowerCase();
  const plain = name.replace(/\.exe$/, '');
  if (POSIX_SHELLS.has(plain)) return 'posix';
  if (plain === 'powershell' || plain === 'pwsh') return 'pwsh';
  return plain === 'cmd' ? 'batch' : undefined;
}

/** What one character changes for those after it: an escaped one, a quote, a command inside of quotes. */
const TOKENS: Readonly<Record<ShellKind, RegExp>> = {
  posix: /\$\{([\w/]+)\}|\\[\s\S]|\$?\(|['")]/g,
  pwsh: /\$\{([\w/]+)\}|`[\s\S]|\$?\(|['")]/g,
  batch: /\$\{([\w/]+)\}|\^[\s\S]|"/g,
};

/**
 * Writes each `${name}` of `names` as this shell reads a variable of its environment, as one word: what the variable holds is never parsed.
 * `${/}` is the separator of paths. Throws AppError `config` where the shell would fill in nothing.
 */
export function referToVariables(line: string, names: readonly string[], program: string): string {
  if (![...names, '/', 'pathSeparator'].some((name) => line.includes(`\${${name}}`))) return line;
  const kind = findShellKind(program);
  if (kind === undefined)
    throw referenceError(program, 'how it fills in variables is not known', 'sh, PowerShell or cmd');
  // The innermost is last: `"$(` begins a command in which no quote is open.
  const open = [''];
  const written = line.replace(TOKENS[kind], (token: string, name: string | undefined) => {
    const quote = open.at(-1) ?? '';
    if (name === '/' || name === 'pathSeparator') return kind === 'posix' ? '/' : '\\';
    if (name !== undefined) return names.includes(name) ? refer(name, { kind, quote, program }) : token;
    if (token.endsWith('(') && (quote === '' || (quote === '"' && token === '$('))) open.push('');
    // In single quotes, and in those of cmd, nothing is escaped.
    const isMark = token.length === 1 || quote === "'" || (kind === 'batch' && quote !== '');
    const mark = isMark ? token.slice(-1) : '';
    if (mark === ')' && quote === '' && open.length > 1) open.pop();
    else if (mark === quote && quote !== '') open[open.length - 1] = '';
    else if ((mark === '"' || mark === "'") && quote === '') open[open.length - 1] = mark;
    return token;
  });
  // A line of PowerShell that begins with a variable would print it.
  return kind === 'pwsh' && /^\s*\$\{env:/.test(written) ? `& ${written}` : written;
}

interface ReferencePlace {
  readonly kind: ShellKind;
  /** The one that is open. */
  readonly quote: string;
  readonly program: string;
}

function refer(name: string, { kind, quote, program }: ReferencePlace): string {
  if (kind === 'pwsh') {
    if (quote !== "'") return `\${env:${name}}`;
    throw referenceError(program, 'it fills in nothing between single quotes', 'double quotes');
  }
  const reference = kind === 'batch' ? `%${name}%` : `\${${name}}`;
  if (quote === '"') return reference;
  return quote === "'" ? `'"${reference}"'` : `"${reference}"`;
}

function referenceError(program: string, why: string, instead: string): AppError {
  return new AppError('config', `a hook has a variable of its extension, and ${program} runs it: ${why}`, {
    hint: `Use ${instead}.`,
  });
}
