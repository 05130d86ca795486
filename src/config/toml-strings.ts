import { AppError } from '../core/error.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  e: '\u001b',
  '"': '"',
  '\\': '\\',
};

/** Each kind of string: how it begins, all of it, and whether a backslash means something in it. */
const KINDS = [
  { start: '"""', whole: /^"""\n?((?:[^\\"]|\\[\s\S]|"(?!""))*(?:"{1,2}(?="""))?)"""/, isBasic: true },
  { start: "'''", whole: /^'''\n?((?:[^']|'(?!''))*(?:'{1,2}(?='''))?)'''/, isBasic: false },
  { start: '"', whole: /^"((?:[^\\"\n]|\\.)*)"/, isBasic: true },
  { start: "'", whole: /^'([^'\n]*)'/, isBasic: false },
] as const;

/**
 * The strings that a TOML document sets outside its tables; what else it sets is passed over. https://toml.io/en/v1.0.0
 * Throws AppError `config`, with `file:line`, for a string that does not end or a line that is none of TOML's.
 */
export function parseTomlStrings(text: string, file: string): ReadonlyMap<string, string> {
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const found = new Map<string, string>();
  let at = 0;
  const fault = (why: string): AppError => {
    const line = source.slice(0, at).split('\n').length;
    return new AppError('config', `${file}:${line}: ${why}`, { hint: 'Mend that file: https://toml.io' });
  };
  while (at < source.length) {
    const rest = source.slice(at);
    const blank = /^(?:[ \t]*(?:#[^\n]*)?\n|[ \t]*(?:#[^\n]*)?$)/.exec(rest)?.[0];
    if (blank !== undefined && blank !== '') {
      at += blank.length;
      continue;
    }
    if (blank === '' || /^[ \t]*\[/.test(rest)) break;
    const [head, bare, quoted] = /^[ \t]*(?:([\w.-]+)|"([^"\\\n]*)")[ \t]*=[ \t]*/.exec(rest) ?? [];
    if (head === undefined) throw fault('this is not a key and its value');
    const value = rest.slice(head.length);
    const kind = KINDS.find(({ start }) => value.startsWith(start));
    const string = kind?.whole.exec(value);
    if (kind !== undefined && !string) throw fault('this string does not end');
    if (kind !== undefined && string) found.set(bare ?? quoted ?? '', stringOf(string[1] ?? '', kind.isBasic));
    at += head.length + (string?.[0].length ?? /^[^\n]*/.exec(value)?.[0].length ?? 0);
    at += /^[ \t]*(?:#[^\n]*)?/.exec(source.slice(at))?.[0].length ?? 0;
    if (at < source.length && source[at] !== '\n') throw fault('there is something behind this value');
  }
  return found;
}

function stringOf(text: string, isBasic: boolean): string {
  if (!isBasic) return text;
  return text.replace(
    /\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|([ \t]*\n\s*)|([\s\S]))/g,
    (all, short?: string, long?: string, joint?: string, letter?: string) => {
      if (joint !== undefined) return '';
      const code = Number.parseInt(short ?? long ?? '', 16);
      if (Number.isInteger(code)) return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
      return ESCAPES[letter ?? ''] ?? all;
    },
  );
}
