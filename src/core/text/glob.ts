import { AppError } from '../error.ts';

type Token =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'many' }
  | { readonly kind: 'class'; readonly has: (char: string) => boolean };

type Step =
  | '**'
  | { readonly name: string }
  /** Texts with anything between them. */
  | { readonly texts: readonly [first: string, ...rest: string[]] }
  | { readonly tokens: readonly Token[] };

interface GlobOptions {
  readonly isCaseSensitive: boolean;
  /** Whether `{a,b}` and `@(a|b)` are alternatives; they are not in ignore files. */
  readonly hasBraces: boolean;
  /** Whether names that begin with a dot are matched only by a pattern that begins with one. */
  readonly hidesDots?: boolean;
}

export interface GlobPattern {
  /** The literal directories that every match is in. */
  readonly base: readonly string[];
  readonly depth: number;
  /** The steps that matching takes, at most, for each character of a path. */
  readonly cost: number;
  /** Relative to the start, with slashes. Time is at most pattern length × path length, per alternative. */
  matches(path: string): boolean;
}

const MAX_LENGTH = 4096;
const MAX_ALTERNATIVES = 100;
const MAX_EXPANDED = 10_000;

/** No regular expression, so that no pattern is slow. Throws AppError `usage` if it has too many alternatives. */
export function compileGlob(pattern: string, options: GlobOptions): GlobPattern {
  if (pattern.length > MAX_LENGTH) throw complexityError(`it is longer than ${MAX_LENGTH} characters`);
  const fold = options.isCaseSensitive ? (text: string) => text : (text: string) => text.toLowerCase();
  const texts = options.hasBraces ? expandBraces(pattern) : [pattern];
  const ways = texts.map((text) => parseSteps(fold(text.replace(/^\.?\/+/, ''))));
  const isDeep = ways.some((steps) => steps.includes('**'));
  return {
    base: options.isCaseSensitive ? findBase(ways) : [],
    depth: isDeep ? Number.POSITIVE_INFINITY : Math.max(...ways.map((steps) => steps.length)),
    cost: ways.flat().reduce((sum, step) => sum + countSteps(step), 0),
    matches: (path) => {
      const names = fold(path).split('/');
      return ways.some((steps) => matchSteps(steps, names, options.hidesDots === true));
    },
  };
}

/** Texts are found one after the other, without going back, and by the runtime. */
function countSteps(step: Step): number {
  if (step === '**' || 'name' in step) return 1;
  return 'texts' in step ? 1 + Math.max(...step.texts.map(({ length }) => length)) / 8 : step.tokens.length;
}

function complexityError(why: string): AppError {
  return new AppError('usage', `the pattern is too complex: ${why}`, { hint: 'Use a simpler pattern, or several.' });
}

function findBase(ways: readonly (readonly Step[])[]): readonly string[] {
  const [first] = ways;
  if (first === undefined || ways.length > 1) return [];
  const base: string[] = [];
  for (const step of first.slice(0, -1)) {
    if (step === '**' || !('name' in step)) break;
    base.push(step.name);
  }
  return base;
}

function parseSteps(pattern: string): readonly Step[] {
  return pattern.split('/').map((text) => {
    if (text === '**') return '**';
    const tokens = parseTokens(text);
    const texts: [string, ...string[]] = [''];
    for (const token of tokens) {
      if (token.kind === 'many') texts.push('');
      else if (token.kind === 'char') texts.push(`${texts.pop() ?? ''}${token.char}`);
      else return { tokens };
    }
    return texts.length === 1 ? { name: texts[0] } : { texts };
  });
}

function parseTokens(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index);
    if (char === '*') {
      if (tokens.at(-1)?.kind !== 'many') tokens.push({ kind: 'many' });
    } else if (char === '?') tokens.push({ kind: 'one' });
    else if (char === '[') {
      const end = findClassEnd(text, index);
      if (end === -1) tokens.push({ kind: 'char', char });
      else {
        tokens.push({ kind: 'class', has: parseClass(text.slice(index + 1, end)) });
        index = end;
      }
    } else if (char === '\\' && index + 1 < text.length) {
      index += 1;
      tokens.push({ kind: 'char', char: text.charAt(index) });
    } else tokens.push({ kind: 'char', char });
  }
  return tokens;
}

/** A `]` directly after the opening belongs to the class. */
function findClassEnd(text: string, start: number): number {
  let index = start + 1;
  if (text[index] === '!' || text[index] === '^') index += 1;
  if (text[index] === ']') index += 1;
  for (; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === ']') return index;
  }
  return -1;
}

function parseClass(body: string): (char: string) => boolean {
  const isNegated = /^[!^]/.test(body);
  const ranges: (readonly [low: string, high: string])[] = [];
  const chars = (isNegated ? body.slice(1) : body).match(/\\.|[^\\]/gsu) ?? [];
  const plain = chars.map((char) => (char.length > 1 && char.startsWith('\\') ? char.slice(1) : char));
  for (let index = 0; index < plain.length; index += 1) {
    const low = plain[index] ?? '';
    const isRange = chars[index + 1] === '-' && index + 2 < plain.length;
    ranges.push([low, isRange ? (plain[index + 2] ?? low) : low]);
    if (isRange) index += 2;
  }
  return (char) => char !== '' && ranges.some(([low, high]) => low <= char && char <= high) !== isNegated;
}

/** Greedy matching that backtracks to the last `**` only: at most steps × names. */
function matchSteps(steps: readonly Step[], names: readonly string[], hidesDots: boolean): boolean {
  const isHidden = (name: string | undefined): boolean => hidesDots && name?.startsWith('.') === true;
  let step = 0;
  let name = 0;
  let lastDeep = -1;
  let resume = 0;
  while (name < names.length) {
    const current = steps[step];
    if (current === '**') {
      lastDeep = step;
      // At the end `**` matches what is inside the directory, not the directory itself.
      resume = step === steps.length - 1 ? name + 1 : name;
      if (resume > name && isHidden(names[name])) return false;
      name = resume;
      step += 1;
    } else if (current !== undefined && matchStep(current, names[name] ?? '', hidesDots)) {
      step += 1;
      name += 1;
    } else if (lastDeep !== -1 && !isHidden(names[resume])) {
      resume += 1;
      name = resume;
      step = lastDeep + 1;
    } else return false;
  }
  return name === names.length && step === steps.length;
}

/** Whether a name begins with the first text, ends with the last and has the others between, in order. */
function hasTexts(name: string, texts: readonly [string, ...string[]]): boolean {
  const last = texts.at(-1) ?? '';
  const end = name.length - last.length;
  let place = texts[0].length;
  if (place > end || !name.startsWith(texts[0]) || !name.endsWith(last)) return false;
  for (const text of texts.slice(1, -1)) {
    const found = name.indexOf(text, place);
    if (found === -1) return false;
    place = found + text.length;
  }
  return place <= end;
}

function matchStep(step: Exclude<Step, '**'>, name: string, hidesDots: boolean): boolean {
  if ('name' in step) return step.name === name;
  if ('texts' in step)
    return (!hidesDots || !name.startsWith('.') || step.texts[0] !== '') && hasTexts(name, step.texts);
  const { tokens } = step;
  if (hidesDots && name.startsWith('.') && tokens[0]?.kind !== 'char') return false;
  let token = 0;
  let place = 0;
  let lastMany = -1;
  let resume = 0;
  while (place < name.length) {
    const current = tokens[token];
    if (current?.kind === 'many') {
      lastMany = token;
      resume = place;
      token += 1;
    } else if (current !== undefined && matchesChar(current, name.charAt(place))) {
      token += 1;
      place += 1;
    } else if (lastMany !== -1) {
      resume += 1;
      place = resume;
      token = lastMany + 1;
    } else return false;
  }
  while (tokens[token]?.kind === 'many') token += 1;
  return token === tokens.length;
}

function matchesChar(token: Exclude<Token, { kind: 'many' }>, char: string): boolean {
  if (token.kind === 'char') return token.char === char;
  return token.kind === 'one' || token.has(char);
}

/** `a{b,c}` and `a@(b|c)` → `ab`, `ac`. A brace without a comma or without its end is literal. */
function expandBraces(pattern: string): readonly string[] {
  const plain = pattern.replace(/@\(([^()]*)\)/g, (_, inner: string) =>
    inner.includes('|') ? `{${inner.replaceAll('|', ',')}}` : inner,
  );
  if (/[+*?!]\([^()]*\)/.test(plain)) throw complexityError('it has an extended group');
  let budget = MAX_ALTERNATIVES * 2;
  let room = MAX_EXPANDED;
  const expand = (text: string): readonly string[] => {
    budget -= 1;
    if (budget < 0) throw complexityError(`it expands to more than ${MAX_ALTERNATIVES} patterns`);
    const brace = findBrace(text);
    if (brace === undefined) {
      room -= text.length;
      if (room < 0) throw complexityError(`its alternatives have more than ${MAX_EXPANDED} characters`);
      return [text];
    }
    return brace.options.flatMap((option) => expand(text.slice(0, brace.start) + option + text.slice(brace.end)));
  };
  return expand(plain);
}

interface Brace {
  readonly start: number;
  readonly end: number;
  readonly options: readonly string[];
}

function findBrace(text: string): Brace | undefined {
  for (let start = text.indexOf('{'); start !== -1; start = text.indexOf('{', start + 1)) {
    const brace = text[start - 1] === '\\' ? undefined : matchBrace(text, start);
    if (brace !== undefined && brace.options.length > 1) return brace;
  }
  return undefined;
}

function matchBrace(text: string, start: number): Brace | undefined {
  const options: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let index = start; index < text.length; index += 1) {
    const char = text[index];
    if (char === '\\') index += 1;
    else if (char === '{') depth += 1;
    else if (char === ',' && depth === 1) {
      options.push(text.slice(from, index));
      from = index + 1;
    } else if (char === '}') {
      depth -= 1;
      if (depth === 0) return { start, end: index + 1, options: [...options, text.slice(from, index)] };
    }
  }
  return undefined;
}
