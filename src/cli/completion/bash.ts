import type { Candidate } from '../../core/flag.ts';
import type { Completion } from './resolve.ts';

/** A word as it is typed: pieces with a backslash, in quotes that may still be open, or plain. */
const WORD = /(?:\\.?|'[^']*'?|"(?:\\.|[^"\\])*"?|[^ \t\n\\'"])+/gs;
const QUOTED = /\\(.?)|'([^']*)'?|"((?:\\.|[^"\\])*)"?/gs;

/** The words of a line up to the cursor; the last one, which may be empty, is left as it is typed. */
export function splitBashLine(line: string): { readonly words: readonly string[]; readonly typed: string } {
  const found = [...line.matchAll(WORD)];
  const last = found.at(-1);
  const typed = last !== undefined && last.index + last[0].length === line.length ? last[0] : '';
  const before = typed === '' ? found : found.slice(0, -1);
  return { words: before.map(([raw]) => unquoteBash(raw)), typed };
}

export function unquoteBash(raw: string): string {
  return raw.replace(QUOTED, (_, escaped, single, double) => escaped ?? single ?? unescapeDouble(double ?? ''));
}

function unescapeDouble(text: string): string {
  return text.replace(/\\([$`"\\])/g, (_, sign) => sign);
}

/** What replaces the word, of each candidate that fits; quoted, and without what readline keeps. */
export function formatBashWords({ head, typed }: Completion, candidates: readonly Candidate[], breaks: string) {
  const quote = /^["']/.exec(typed)?.[0] ?? '';
  const open = typed.slice(quote.length);
  // A quote in the middle of a word: readline would replace only what stands behind it.
  if (/["']/.test(open.replace(/\\./gs, () => ''))) return [];
  const plain = unquotePart(open, quote);
  const fitting = candidates.map(({ value }) => value).filter((value) => value.startsWith(plain));
  if (quote === '"') return fitting.map((value) => value.replace(/[$`"\\]/g, (sign) => `\\${sign}`));
  if (quote === "'") return fitting.map((value) => value.replaceAll("'", () => `'\\''`));
  const kept = findKeptPart(`${head}${typed}`, breaks);
  return fitting.map((value) => {
    const full = `${head}${escapeForBash(value)}`;
    return full.startsWith(kept) ? full.slice(kept.length) : full;
  });
}

function unquotePart(open: string, quote: string): string {
  if (quote === "'") return open;
  return quote === '"' ? unescapeDouble(open) : unquoteBash(open);
}

/** Readline replaces only what stands after the last = or :, unless they do not cut words here. */
function findKeptPart(word: string, breaks: string): string {
  const cuts = ['=', ':'].filter((sign) => breaks.includes(sign));
  return word.slice(0, Math.max(0, ...cuts.map((sign) => word.lastIndexOf(sign) + 1)));
}

function escapeForBash(value: string): string {
  return value.replace(/[^\w@%+=:./\u0080-\uffff-]/g, (sign) => `\\${sign}`);
}
