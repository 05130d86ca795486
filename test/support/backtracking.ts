import { type CharacterSet, type Node, parseSource } from '../../src/core/text/pattern.ts';

/** The steps of an engine that tries all ways to match, as that of JavaScript does; at most `most`. */
export type CountTries = (text: string, most: number) => number;

export interface TriedPattern {
  readonly count: CountTries;
  /** A text that it matches, or nearly. */
  readonly sample: string;
  /** Characters of each kind that it tells apart. */
  readonly kinds: readonly string[];
}

const CHARACTERS = [
  ...'aA01 eb',
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  'é',
  '漢',
  '\u2028',
];

class Enough extends Error {}

/** Throws SyntaxError for references to groups. */
export function tryPattern(literal: string): TriedPattern {
  const end = literal.lastIndexOf('/');
  const { node, sets } = parseSource(literal.slice(1, end), literal.slice(end + 1));
  const kinds = new Map<string, string>();
  for (const character of CHARACTERS) {
    const key = sets.map((has) => Number(has(character.codePointAt(0) ?? 0))).join('');
    if (key.includes('1') && !kinds.has(key)) kinds.set(key, character);
  }
  return {
    count: (text, most) => countTries(node, sets, text, most),
    sample: makeSample(node, sets),
    kinds: [...kinds.values()],
  };
}

function countTries(root: Node, sets: readonly CharacterSet[], subject: string, most: number): number {
  const text = Uint32Array.from(subject, (character) => character.codePointAt(0) ?? 0);
  let steps = 0;
  const match = (node: Node, place: number, isForward: boolean, next: (place: number) => boolean): boolean => {
    steps += 1;
    if (steps > most) throw new Enough();
    switch (node.kind) {
      case 'set': {
        const code = text[isForward ? place : place - 1];
        return code !== undefined && sets[node.set]?.(code) === true && next(place + (isForward ? 1 : -1));
      }
      case 'place':
        return node.isHere(text, place) && next(place);
      case 'look':
        return match(node.node, place, node.direction === 'forward', () => true) !== node.isNegated && next(place);
      case 'either':
        return node.nodes.some((each) => match(each, place, isForward, next));
      case 'list': {
        const nodes = isForward ? node.nodes : node.nodes.toReversed();
        const follow = (index: number, at: number): boolean => {
          const each = nodes[index];
          return each === undefined ? next(at) : match(each, at, isForward, (after) => follow(index + 1, after));
        };
        return follow(0, place);
      }
      case 'repeat': {
        const again = (count: number, at: number): boolean =>
          (count < node.most &&
            match(
              node.node,
              at,
              isForward,
              (after) => (after !== at || count < node.least) && again(count + 1, after),
            )) ||
          (count >= node.least && next(at));
        return again(0, place);
      }
    }
  };
  try {
    for (let start = 0; start <= text.length && !match(root, start, true, () => true); ) start += 1;
  } catch (thrown) {
    if (!(thrown instanceof Enough)) throw thrown;
  }
  return steps;
}

function makeSample(node: Node, sets: readonly CharacterSet[]): string {
  switch (node.kind) {
    case 'set':
      return CHARACTERS.find((character) => sets[node.set]?.(character.codePointAt(0) ?? 0)) ?? '';
    case 'list':
      return node.nodes.map((each) => makeSample(each, sets)).join('');
    case 'either':
      return node.nodes[0] === undefined ? '' : makeSample(node.nodes[0], sets);
    case 'repeat':
      return makeSample(node.node, sets).repeat(Math.min(Math.max(node.least, 1), node.most, 3));
    default:
      return '';
  }
}
