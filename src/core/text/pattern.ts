/** How many steps work may still take. One for all parts of a work, so that many small ones count as well. */
export interface StepLimit {
  left: number;
}

export class StepLimitError extends Error {
  override readonly name = 'StepLimitError';
}

export function takeSteps(limit: StepLimit, count: number): void {
  limit.left -= count;
  if (limit.left < 0) throw new StepLimitError('it takes too many steps');
}

export interface Pattern {
  /** Like the method of a RegExp. Throws StepLimitError. */
  test(text: string, limit: StepLimit): boolean;
}

/**
 * Compiles a regular expression of JavaScript for text that may be made to be slow. A RegExp tries all ways to match,
 * which may be 2^n for n characters, and nothing ends it; here no state is entered twice at the same place, so that the
 * steps are at most the size of the pattern times the length of the text. Throws SyntaxError for what is no regular
 * expression, and for references to groups (`\1`), which cannot be matched so.
 */
export function compilePattern(source: string, flags = 'u'): Pattern {
  const { node, sets } = parseSource(source, flags);
  const main = compileProgram(node, 'forward');
  return { test: (text, limit) => searchText(main, sets, toCodePoints(text), limit) };
}

type Direction = 'forward' | 'backward';

export type Node =
  | { readonly kind: 'set'; readonly set: number }
  | { readonly kind: 'list' | 'either'; readonly nodes: readonly Node[] }
  | { readonly kind: 'repeat'; readonly node: Node; readonly least: number; readonly most: number }
  | { readonly kind: 'place'; readonly isHere: IsHere }
  | { readonly kind: 'look'; readonly node: Node; readonly direction: Direction; readonly isNegated: boolean };

type IsHere = (text: Uint32Array, place: number) => boolean;

export type CharacterSet = (code: number) => boolean;

const TOKEN = new RegExp(
  [
    /\(\?<?[=!]|\(\?:|\(\?<[^>]*>|\(|\)|\|/,
    /\\u\{[^}]*\}|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}/,
    /\\c[a-zA-Z]|\\[pP]\{[^}]*\}|\\k<[^>]*>|\\[1-9]\d*|\\[\s\S]/,
    /\[(?:[^\]\\]|\\[\s\S])*\]/,
    /[*+?]\??|\{\d+(?:,\d*)?\}\??/,
    /[\s\S]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gu',
);

/** Throws SyntaxError. The checks that JavaScript makes itself are left to it, and so is what belongs to a set of characters. */
export function parseSource(source: string, flags: string) {
  const own = flags.replace(/[gy]/g, '');
  new RegExp(source, own);
  const tokens = source.match(TOKEN) ?? [];
  const sets: CharacterSet[] = [];
  const numbers = new Map<string, number>();
  let at = 0;
  const parseSet = (token: string): Node => {
    const set = numbers.get(token) ?? sets.push(createSet(token, own)) - 1;
    numbers.set(token, set);
    return { kind: 'set', set };
  };
  const parseEither = (): Node => {
    const nodes = [parseList()];
    for (; tokens[at] === '|'; nodes.push(parseList())) at += 1;
    return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { kind: 'either', nodes };
  };
  const parseList = (): Node => {
    const nodes: Node[] = [];
    for (let token = tokens[at]; token !== undefined && token !== '|' && token !== ')'; token = tokens[at]) {
      at += 1;
      nodes.push(parseRepeats(parseAtom(token)));
    }
    return { kind: 'list', nodes };
  };
  const parseAtom = (token: string): Node => {
    if (token.startsWith('(')) {
      const node = parseEither();
      at += 1;
      const look = /^\(\?(<?)([=!])$/.exec(token);
      if (look === null) return node;
      return { kind: 'look', node, direction: look[1] === '' ? 'forward' : 'backward', isNegated: look[2] === '!' };
    }
    const isHere = findPlace(token, flags.includes('m'));
    if (isHere !== undefined) return { kind: 'place', isHere };
    if (/^\\(?:[1-9]|k<)/.test(token)) throw new SyntaxError(`a reference to a group (${token}) is not supported`);
    return parseSet(token);
  };
  const parseRepeats = (node: Node): Node => {
    const token = tokens[at] ?? '';
    const [, mark = '', least, comma, most] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(token) ?? [];
    if (mark === '' && least === undefined) return node;
    at += 1;
    if (least === undefined)
      return { kind: 'repeat', node, least: mark === '+' ? 1 : 0, most: mark === '?' ? 1 : Number.POSITIVE_INFINITY };
    return {
      kind: 'repeat',
      node,
      least: Number(least),
      most: Number(comma === '' ? least : most || Number.POSITIVE_INFINITY),
    };
  };
  return { node: parseEither(), sets };
}

function findPlace(token: string, isMultiline: boolean): IsHere | undefined {
  const isFeed = (code: number | undefined): boolean => isMultiline && code !== undefined && FEEDS.has(code);
  const isWordEnd: IsHere = (text, place) => isWord(text[place - 1]) !== isWord(text[place]);
  switch (token) {
    case '^':
      return (text, place) => place === 0 || isFeed(text[place - 1]);
    case '$':
      return (text, place) => place === text.length || isFeed(text[place]);
    case '\\b':
      return isWordEnd;
    case '\\B':
      return (text, place) => !isWordEnd(text, place);
    default:
      return undefined;
  }
}

const FEEDS: ReadonlySet<number> = new Set([0x0a, 0x0d, 0x2028, 0x2029]);

function isWord(code: number | undefined): boolean {
  return code !== undefined && /\w/.test(String.fromCodePoint(code));
}

/** Asks JavaScript once for each character. */
function createSet(token: string, flags: string): CharacterSet {
  const pattern = new RegExp(`^(?:${token})$`, flags.replace('m', ''));
  const known = new Map<number, boolean>();
  return (code) => {
    const answer = known.get(code) ?? pattern.test(String.fromCodePoint(code));
    known.set(code, answer);
    return answer;
  };
}

type Instruction =
  | { readonly do: 'take'; readonly set: number }
  /** Goes on at both; `number` is its own among them. */
  | { readonly do: 'fork'; readonly number: number; first: number; second: number }
  | { readonly do: 'jump'; to: number }
  | { readonly do: 'place'; readonly isHere: IsHere }
  | { readonly do: 'look'; readonly program: Program; readonly isNegated: boolean }
  | { readonly do: 'end' };

interface Program {
  readonly direction: Direction;
  readonly instructions: readonly Instruction[];
  readonly forks: number;
}

/** Repetitions with numbers are written out. */
const MAX_INSTRUCTIONS = 20_000;

function compileProgram(node: Node, direction: Direction): Program {
  const instructions: Instruction[] = [];
  let forks = 0;
  const add = <Added extends Instruction>(instruction: Added): Added => {
    if (instructions.length >= MAX_INSTRUCTIONS) throw new SyntaxError('it repeats too much');
    instructions.push(instruction);
    return instruction;
  };
  const addFork = (): Extract<Instruction, { do: 'fork' }> => {
    const fork = add({ do: 'fork', number: forks, first: instructions.length + 1, second: 0 });
    forks += 1;
    return fork;
  };
  const compile = (part: Node): void => {
    switch (part.kind) {
      case 'set':
        add({ do: 'take', set: part.set });
        return;
      case 'place':
        add({ do: 'place', isHere: part.isHere });
        return;
      case 'look':
        add({ do: 'look', program: compileProgram(part.node, part.direction), isNegated: part.isNegated });
        return;
      case 'list':
        for (const each of direction === 'forward' ? part.nodes : part.nodes.toReversed()) compile(each);
        return;
      case 'either':
        compileEither(part.nodes);
        return;
      case 'repeat':
        compileRepeat(part);
    }
  };
  const compileEither = (nodes: readonly Node[]): void => {
    const jumps = nodes.map((node, index) => {
      const fork = index < nodes.length - 1 ? addFork() : undefined;
      compile(node);
      const jump = add({ do: 'jump', to: 0 });
      if (fork !== undefined) fork.second = instructions.length;
      return jump;
    });
    for (const jump of jumps) jump.to = instructions.length;
  };
  const compileRepeat = ({ node: body, least, most }: Extract<Node, { kind: 'repeat' }>): void => {
    for (let count = 0; count < least; count += 1) compile(body);
    if (most === Number.POSITIVE_INFINITY) {
      const start = instructions.length;
      const fork = addFork();
      compile(body);
      add({ do: 'jump', to: start });
      fork.second = instructions.length;
      return;
    }
    const skips = Array.from({ length: most - least }, () => {
      const fork = addFork();
      compile(body);
      return fork;
    });
    for (const fork of skips) fork.second = instructions.length;
  };
  compile(node);
  add({ do: 'end' });
  return { direction, instructions, forks };
}

function toCodePoints(text: string): Uint32Array {
  return Uint32Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function searchText(program: Program, sets: readonly CharacterSet[], text: Uint32Array, limit: StepLimit): boolean {
  const visited = createVisited(program, text, limit);
  for (let start = 0; start <= text.length; start += 1) {
    if (runInstructions(program, { sets, text, limit, visited }, start)) return true;
  }
  return false;
}

/** One bit for each fork at each place. What was there before did not match, from wherever it was reached. */
type Visited = Uint8Array;

function createVisited({ forks }: Program, { length }: Uint32Array, limit: StepLimit): Visited {
  const bytes = Math.ceil((forks * (length + 1)) / 8);
  takeSteps(limit, Math.ceil(bytes / 64));
  return new Uint8Array(bytes);
}

interface Run {
  readonly sets: readonly CharacterSet[];
  readonly text: Uint32Array;
  readonly limit: StepLimit;
  readonly visited: Visited;
}

function runInstructions({ instructions, direction }: Program, run: Run, start: number): boolean {
  const { sets, text, limit, visited } = run;
  const isForward = direction === 'forward';
  /** Instructions and places still to be tried, in pairs. */
  const pending: number[] = [0, start];
  while (pending.length > 0) {
    let place = pending.pop() ?? 0;
    let next = pending.pop() ?? 0;
    for (let isAlive = true; isAlive; ) {
      takeSteps(limit, 1);
      const instruction = instructions[next];
      next += 1;
      switch (instruction?.do) {
        case 'take': {
          const code = text[isForward ? place : place - 1];
          isAlive = code !== undefined && sets[instruction.set]?.(code) === true;
          place += isForward ? 1 : -1;
          break;
        }
        case 'fork': {
          const bit = instruction.number * (text.length + 1) + place;
          isAlive = ((visited[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0;
          if (!isAlive) break;
          visited[bit >> 3] = (visited[bit >> 3] ?? 0) | (1 << (bit & 7));
          pending.push(instruction.second, place);
          next = instruction.first;
          break;
        }
        case 'jump':
          next = instruction.to;
          break;
        case 'place':
          isAlive = instruction.isHere(text, place);
          break;
        case 'look': {
          const { program, isNegated } = instruction;
          const inner = { ...run, visited: createVisited(program, text, limit) };
          isAlive = runInstructions(program, inner, place) !== isNegated;
          break;
        }
        default:
          return true;
      }
    }
  }
  return false;
}
