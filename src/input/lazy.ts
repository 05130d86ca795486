/** The rules of ignore files, for paths below the directory they are in. */
export interface IgnoreMatcher {
  /** Both may be false: then these rules have nothing to say. */
  test(path: string): { readonly ignored: boolean; readonly unignored: boolean };
}

/** Compiles the texts of ignore files; loaded when there is one. */
export async function ignoreMatcher(texts: readonly string[]): Promise<IgnoreMatcher> {
  const { default: ignore } = await import('ignore');
  // An array would be taken for single rules.
  return ignore({ ignorecase: false }).add(texts.join('\n'));
}

export interface Glob {
  /** The directory that every match is in; may be empty. */
  readonly base: string;
  /** The pattern below it. */
  readonly pattern: string;
  /** Given a path below `base`. */
  readonly matches: (path: string) => boolean;
}

/** Compiles a glob; loaded when `-f` is given one. */
export async function compileGlob(text: string): Promise<Glob> {
  const { default: picomatch } = await import('picomatch');
  const { base, glob: pattern } = picomatch.scan(text);
  return { base, pattern, matches: picomatch(pattern, { nonegate: true }) };
}
