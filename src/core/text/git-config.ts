/** One value of a git configuration. */
export interface GitConfigEntry {
  /** Section and name in lower case, a subsection as it is written: `filter.LFS.clean`. */
  readonly key: string;
  readonly value: string;
}

const HEADER = /^[ \t]*\[[ \t]*([\w.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?[ \t]*\]/;
const NAME = /^[ \t]*([a-z][\w-]*)[ \t]*/i;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b' };

/** Lines that git would refuse are skipped: https://git-scm.com/docs/git-config#_syntax */
export function parseGitConfig(text: string): readonly GitConfigEntry[] {
  const found: GitConfigEntry[] = [];
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  let section = '';
  for (let at = 0; at < lines.length; at += 1) {
    let line = lines[at] ?? '';
    for (let header = HEADER.exec(line); header !== null; header = HEADER.exec(line)) {
      const [whole, name = '', subsection] = header;
      section = `${name.toLowerCase()}${subsection === undefined ? '' : `.${subsection.replace(/\\(.)/g, '$1')}`}`;
      line = line.slice(whole.length);
    }
    const [opening, name] = NAME.exec(line) ?? [];
    if (opening === undefined || name === undefined) continue;
    const key = `${section === '' ? '' : `${section}.`}${name.toLowerCase()}`;
    if (line[opening.length] !== '=') {
      if (/^(?:$|[#;])/.test(line.slice(opening.length))) found.push({ key, value: '' });
      continue;
    }
    const { value, used } = readConfigValue(line.slice(opening.length + 1), lines, at);
    at += used;
    found.push({ key, value });
  }
  return found;
}

/** A value begins in this line, and may continue in the next ones. */
function readConfigValue(start: string, lines: readonly string[], at: number) {
  let value = '';
  /** Without the blanks at its end, which count only inside of quotes. */
  let length = 0;
  let isQuoted = false;
  let used = 0;
  let line = start.trimStart();
  for (let index = 0; ; index += 1) {
    if (index >= line.length) break;
    const character = line[index] ?? '';
    if (character === '\\' && index === line.length - 1) {
      // Blanks before it count, even if nothing follows.
      length = value.length;
      used += 1;
      line = lines[at + used] ?? '';
      index = -1;
      continue;
    }
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /[#;]/.test(character)) break;
    else if (character === '\\') {
      index += 1;
      const escaped = line[index] ?? '';
      value += ESCAPES[escaped] ?? escaped;
    } else value += character;
    if (isQuoted || !/\s/.test(character)) length = value.length;
  }
  return { value: value.slice(0, length), used };
}
