const PLAIN = /^[^."\\\s]+$/;

/** `a.b."c.d"` as its parts; undefined if a part is empty or a quote is not closed. */
export function parseKeyPath(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  const part = /(?:"((?:[^"\\]|\\.)*)"|([^."]+))(\.|$)/y;
  for (let end = '.'; end === '.'; ) {
    const match = part.exec(text);
    if (match === null) return undefined;
    const [, quoted, plain, separator = ''] = match;
    parts.push(plain ?? (quoted ?? '').replace(/\\(.)/gs, '$1'));
    end = separator;
  }
  return parts;
}

/** The parts as one key; a part with a dot in it is quoted. `parseKeyPath` reads it back. */
export function formatKeyPath(parts: readonly string[]): string {
  return parts.map((part) => (PLAIN.test(part) ? part : `"${part.replace(/["\\]/g, '\\$&')}"`)).join('.');
}
