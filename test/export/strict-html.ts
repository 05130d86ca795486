export interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const VOID = new Set(['meta', 'input', 'img', 'br', 'hr']);
const TAG = /^<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+(?:="[^"<>`]*")?)*)>/;
const TEXT = /^(?:[^<>&"'`]|&(?:amp|lt|gt|quot|#39|#96);)+/;

/**
 * Accepts only the strictest HTML: one doctype, tags that are nested and closed, attributes in double quotes, text in
 * which every special character is an entity. Throws at the first deviation.
 */
export function parseStrictly(html: string): readonly Tag[] {
  const tags: Tag[] = [];
  const open: string[] = [];
  let rest = html.replace(/^<!doctype html>\n/, '');
  if (rest.length === html.length) throw new Error('no doctype');
  while (rest !== '') {
    const raw = ['style', 'script'].includes(open.at(-1) ?? '') ? rest.search(/<\/(?:style|script)>/) : -1;
    const text = raw === -1 ? (TEXT.exec(rest)?.[0].length ?? 0) : raw;
    rest = rest.slice(text);
    if (rest === '') break;
    const found = TAG.exec(rest);
    if (found === null) throw new Error(`neither text nor a tag: ${JSON.stringify(rest.slice(0, 80))}`);
    const [whole, slash, name = '', attributes = ''] = found;
    if (slash === '/') {
      if (open.pop() !== name) throw new Error(`</${name}> closes nothing`);
    } else {
      tags.push({ name, attributes: attributesOf(attributes) });
      if (!VOID.has(name)) open.push(name);
    }
    rest = rest.slice(whole.length);
  }
  if (open.length > 0) throw new Error(`still open: ${open.join(', ')}`);
  return tags;
}

function attributesOf(text: string): Readonly<Record<string, string>> {
  const found = [...text.matchAll(/ ([a-z-]+)(?:="([^"]*)")?/g)];
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, value]));
}
