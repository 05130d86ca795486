import { canonicalJson, isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { NormalRequest } from './normalise.ts';

/** How many are looked for: a request that differs in more resembles nothing. */
const MOST = 50;
const SHOWN = 3;
/** Characters on each side of the first one that differs. */
const AROUND = 24;

export interface Difference {
  /** `contents[2].parts[0].text differs at character 118: …` */
  readonly clause: string;
  /** From 0, nearly the same, to 1, something else. */
  readonly weight: number;
}

export function listDifferences(recorded: NormalRequest, asked: NormalRequest): readonly Difference[] {
  const found: Difference[] = [];
  for (const field of ['method', 'path'] as const) {
    if (recorded[field] === asked[field]) continue;
    found.push({ clause: `${field} is ${asked[field]}, recorded was ${recorded[field]}`, weight: 1 });
  }
  compare(recorded.query, asked.query, 'query', found);
  compare(recorded.body, asked.body, '', found);
  return found;
}

export function formatDifferences(differences: readonly Difference[]): string {
  const more = differences.length - SHOWN;
  const clauses = differences.slice(0, SHOWN).map(({ clause }) => clause);
  return [...clauses, ...(more > 0 ? [`${more} more`] : [])].map(sanitize).join('; ');
}

function compare(
  recorded: JsonValue | undefined,
  asked: JsonValue | undefined,
  place: string,
  found: Difference[],
): void {
  if (found.length >= MOST || recorded === asked) return;
  const where = place === '' ? 'the body' : place;
  const add = (words: string, weight = 1): void => void found.push({ clause: `${where} ${words}`, weight });
  if (recorded === undefined) add(`is new: ${quote(asked)}`);
  else if (asked === undefined) add(`is missing, recorded was ${quote(recorded)}`);
  else if (isList(recorded) && isList(asked)) {
    for (let index = 0; index < Math.min(recorded.length, asked.length); index += 1) {
      compare(recorded[index], asked[index], `${place}[${index}]`, found);
    }
    if (recorded.length !== asked.length) add(`has ${asked.length} items, recorded were ${recorded.length}`);
  } else if (isObject(recorded) && isObject(asked)) {
    const [one, other] = [recorded as JsonObject, asked as JsonObject];
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      compare(one[key], other[key], place === '' ? key : `${place}.${key}`, found);
    }
  } else if (typeof recorded === 'string' && typeof asked === 'string') {
    addText(recorded, asked, add);
  } else if (canonicalJson(recorded) !== canonicalJson(asked)) {
    add(`is ${quote(asked)}, recorded was ${quote(recorded)}`);
  }
}

function addText(recorded: string, asked: string, add: (words: string, weight: number) => void): void {
  let at = 0;
  while (at < recorded.length && at < asked.length && recorded[at] === asked[at]) at += 1;
  const excerpt = (text: string): string => {
    const piece = text.slice(Math.max(0, at - AROUND), at + AROUND);
    return JSON.stringify(`${at > AROUND ? '…' : ''}${piece}${text.length > at + AROUND ? '…' : ''}`);
  };
  const weight = 1 - at / Math.max(recorded.length, asked.length);
  add(`differs at character ${at + 1}: ${excerpt(asked)}, recorded was ${excerpt(recorded)}`, weight);
}

function quote(value: JsonValue | undefined): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 2 * AROUND ? `${text.slice(0, 2 * AROUND)}…` : text;
}
