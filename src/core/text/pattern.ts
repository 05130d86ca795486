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
  const main = compileProgram(node, 'forward', sets);
  return { test: (text, limit) => searchText(main, toCodePoints(text), limit) };
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

/** What is still to be matched; each state leads to the next. */
type State =
  | { readonly do: 'take'; readonly has: CharacterSet; readonly next: State }
  /** Tries both; `number` is its own among them. */
  | Fork
  | { readonly do: 'place'; readonly isHere: IsHere; readonly next: State }
  | { readonly do: 'look'; readonly program: Program; readonly isNegated: boolean; readonly next: State }
  | { readonly do: 'end' };

interface Fork {
  readonly do: 'fork';
  readonly number: number;
  first: State;
  readonly second: State;
}

interface Program {
  readonly direction: Direction;
  readonly start: State;
  readonly forks: number;
}

/** Repetitions with numbers are written out. */
const MAX_STATES = 20_000;

function compileProgram(node: Node, direction: Direction, sets: readonly CharacterSet[]): Program {
  let states = 0;
  let forks = 0;
  const add = <Added extends State>(state: Added): Added => {
    states += 1;
    if (states > MAX_STATES) throw new SyntaxError('it repeats too much');
    return state;
  };
  const fork = (first: State, second: State): Fork => add({ do: 'fork', number: forks++, first, second });
  /** The state where `part` begins, after which `next` is matched. */
  const compile = (part: Node, next: State): State => {
    switch (part.kind) {
      case 'set':
        return add({ do: 'take', has: sets[part.set] ?? (() => false), next });
      case 'place':
        return add({ do: 'place', isHere: part.isHere, next });
      case 'look': {
        const program = compileProgram(part.node, part.direction, sets);
        return add({ do: 'look', program, isNegated: part.isNegated, next });
      }
      case 'list': {
        const nodes = direction === 'forward' ? part.nodes : part.nodes.toReversed();
        return nodes.reduceRight((after, each) => compile(each, after), next);
      }
      case 'either':
        return part.nodes.map((each) => compile(each, next)).reduceRight((second, first) => fork(first, second));
      case 'repeat':
        return compileRepeat(part, next);
    }
  };
  const compileRepeat = ({ node: body, least, most }: Extract<Node, { kind: 'repeat' }>, next: State): State => {
    let state = next;
    if (most === Number.POSITIVE_INFINITY) {
      const loop = fork(next, next);
      loop.first = compile(body, loop);
      state = loop;
    } else for (let count = least; count < most; count += 1) state = fork(compile(body, state), next);
    for (let count = 0; count < least; count += 1) state = compile(body, state);
    return state;
  };
  const start = compile(node, { do: 'end' });
  return { direction, start, forks };
}

function toCodePoints(text: string): Uint32Array {
  return Uint32Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function searchText(program: Program, text: Uint32Array, limit: StepLimit): boolean {
  const visited = createVisited(program, text, limit);
  for (let place = 0; place <= text.length; place += 1) {
    if (runStates(program, { text, limit, visited }, place)) return true;
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
  readonly text: Uint32Array;
  readonly limit: StepLimit;
  readonly visited: Visited;
}

function runStates({ start, direction }: Program, { text, limit, visited }: Run, from: number): boolean {
  const isForward = direction === 'forward';
  /** What is still to be tried; the places apart, so that nothing is allocated for each of them. */
  const pending: State[] = [start];
  const places: number[] = [from];
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    let place = places.pop() ?? 0;
    while (state !== undefined) {
      takeSteps(limit, 1);
      switch (state.do) {
        case 'take': {
          const code: number | undefined = text[isForward ? place : place - 1];
          place += isForward ? 1 : -1;
          state = code !== undefined && state.has(code) ? state.next : undefined;
          break;
        }
        case 'fork': {
          const bit = state.number * (text.length + 1) + place;
          const known = visited[bit >> 3] ?? 0;
          const mask = 1 << (bit & 7);
          visited[bit >> 3] = known | mask;
          const isNew: boolean = (known & mask) === 0;
          if (isNew) {
            pending.push(state.second);
            places.push(place);
          }
          state = isNew ? state.first : undefined;
          break;
        }
        case 'place':
          state = state.isHere(text, place) ? state.next : undefined;
          break;
        case 'look': {
          const inner = { text, limit, visited: createVisited(state.program, text, limit) };
          state = runStates(state.program, inner, place) !== state.isNegated ? state.next : undefined;
          break;
        }
        default:
          return true;
      }
    }
  }
  return false;
}
