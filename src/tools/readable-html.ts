const DROPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'object',
  'title',
  'select',
]);

const BLOCKS = new Set([
  ...['address', 'article', 'aside', 'blockquote', 'body', 'caption', 'dd', 'details', 'dialog', 'div', 'dl', 'dt'],
  ...['fieldset', 'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'li'],
  ...['main', 'menu', 'nav', 'ol', 'p', 'pre', 'section', 'summary', 'table', 'tbody', 'tfoot', 'thead', 'tr', 'ul'],
]);

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', copy: '©', reg: '®', trade: '™', hellip: '…' },
  ...{ mdash: '—', ndash: '–', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', laquo: '«', raquo: '»', bull: '•' },
  ...{ middot: '·', times: '×', deg: '°', yen: '¥', euro: '€', pound: '£', cent: '¢', sect: '§', para: '¶' },
  ...{ larr: '←', uarr: '↑', rarr: '→', darr: '↓', shy: '', zwnj: '', zwj: '' },
};

/**
 * A page as plain text: one line per block, headings and list items marked, links followed by their absolute address in
 * brackets. Scripts, styles and the like are dropped. Takes linear time on any input.
 */
export function readableHtml(html: string, base: URL) {
  const title = /<title[^>]{0,200}>([^<]{0,1000})/i.exec(html)?.[1] ?? '';
  const page = textBuilder();
  let href: string | undefined;
  for (const token of tokenize(html)) {
    if (token.kind === 'text') {
      page.addText(decodeHtmlEntities(token.text));
      continue;
    }
    const { name, isClosing } = token;
    if (name === 'a') {
      if (href !== undefined) page.closeLink(href);
      href = isClosing ? undefined : findAddress(token.attributes, base);
    } else if (name === 'br') page.endLine();
    else if (name === 'td' || name === 'th') page.addText(' ');
    else if (BLOCKS.has(name)) {
      page.endBlock();
      if (name === 'pre') page.setPreformatted(!isClosing);
      if (!isClosing) page.addMark(toMark(name));
    }
  }
  return { title: collapseSpace(decodeHtmlEntities(title)).trim(), text: page.end() };
}

type Token =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tag'; readonly name: string; readonly isClosing: boolean; readonly attributes: string };

function* tokenize(html: string): Generator<Token> {
  const opening = /<(?:(!--)|[!?]|(\/?)([a-z][^\s/>]{0,40}))/gi;
  let at = 0;
  for (;;) {
    opening.lastIndex = at;
    const match = opening.exec(html);
    yield { kind: 'text', text: html.slice(at, match?.index) };
    if (match === null) return;
    const [, comment, slash, given = ''] = match;
    const name = given.toLowerCase();
    // As in a browser, what is not closed reaches to the end; so every character is scanned once.
    at = comment === undefined ? findClosingBracket(html, opening.lastIndex) : skipPast(html, '-->', opening.lastIndex);
    if (name === '') continue;
    const isClosing = slash === '/';
    if (DROPPED.has(name) && !isClosing) at = findElementEnd(html, name, at);
    else yield { kind: 'tag', name, isClosing, attributes: html.slice(opening.lastIndex, at - 1) };
  }
}

function skipPast(html: string, end: string, from: number): number {
  const found = html.indexOf(end, from);
  return found === -1 ? html.length : found + end.length;
}

function findClosingBracket(html: string, from: number): number {
  const next = /[>"']/g;
  for (let at = from; ; ) {
    next.lastIndex = at;
    const found = next.exec(html)?.[0];
    if (found === undefined) return html.length;
    if (found === '>') return next.lastIndex;
    at = skipPast(html, found, next.lastIndex);
  }
}

function findElementEnd(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
  closing.lastIndex = from;
  return closing.exec(html) === null ? html.length : findClosingBracket(html, closing.lastIndex);
}

function toMark(name: string): string {
  if (name === 'li') return '- ';
  return /^h[1-6]$/.test(name) ? `${'#'.repeat(Number(name.charAt(1)))} ` : '';
}

function findAddress(attributes: string, base: URL): string | undefined {
  const [, double, single, bare] =
    /(?:^|\s)href\s{0,10}=\s{0,10}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(attributes.slice(0, 4000)) ?? [];
  const href = decodeHtmlEntities(double ?? single ?? bare ?? '').trim();
  if (href === '' || href.startsWith('#') || !URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined;
}

function textBuilder() {
  const lines: string[] = [];
  // Pieces instead of one growing string, which would be flattened again and again.
  let line: string[] = [];
  let isPreformatted = false;
  /** True at the start of a line, after its mark, or after a space. */
  let isSpaced = true;
  let isMarked = false;
  const add = (text: string): void => {
    line.push(text);
    isSpaced = text.endsWith(' ');
    if (isMarked && text.trim() !== '') isMarked = false;
  };
  const endLine = (): void => {
    const whole = line.join('');
    if (isPreformatted || whole.trim() !== '') lines.push(`${isPreformatted ? whole : whole.trim()}\n`);
    line = [];
    isSpaced = true;
    isMarked = false;
  };
  const addRows = (text: string): void => {
    const rows = text.split('\n');
    for (const [index, row] of rows.entries()) {
      if (row !== '') add(row);
      if (index < rows.length - 1) endLine();
    }
  };
  return {
    addText(text: string): void {
      if (isPreformatted) addRows(text);
      else {
        const flat = collapseSpace(text);
        const wanted = isSpaced && flat.startsWith(' ') ? flat.slice(1) : flat;
        if (wanted !== '') add(wanted);
      }
    },
    endLine,
    endBlock(): void {
      // The last line break before `</pre>` starts no new line.
      if (!isMarked && line.length > 0) endLine();
    },
    addMark(mark: string): void {
      if (mark === '' || isMarked) return;
      add(mark);
      isMarked = true;
    },
    setPreformatted(isOn: boolean): void {
      isPreformatted = isOn;
    },
    closeLink: (href: string): void => add(isSpaced ? `(${href}) ` : ` (${href})`),
    end(): string {
      endLine();
      return lines.join('').replace(/\n{3,}/g, '\n\n');
    },
  };
}

function collapseSpace(text: string): string {
  return text.replace(/[ \t\r\n\f]+/g, ' ');
}

function decodeHtmlEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{1,10}));?/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return (Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined) ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
  });
}
