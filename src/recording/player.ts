import { isList, isObject, type JsonValue, toJsonObject } from '../core/json.ts';
import { plural } from '../core/text/format.ts';
import { type Difference, formatDifferences, listDifferences } from './difference.ts';
import { type Exchange, formatTarget, type Recording, type StoredRequest, unwrapBody } from './exchange.ts';
import { detachMedia } from './media.ts';
import { redactNamed } from './named-secrets.ts';
import { hashRequest, type Ignore, type NormalRequest, normaliseRequest } from './normalise.ts';

/** `strict`: the same request. `order`: the next of that method. `last-user`: the same last words of the user. */
export type Match = 'strict' | 'order' | 'last-user';

export interface PlayerOptions {
  readonly match?: Match;
  readonly ignored?: readonly Ignore[];
}

export interface FoundExchange {
  readonly exchange: Exchange;
  /** It may be asked for once more: the client did not get this answer. */
  putBack(): void;
}

export interface Player {
  /** The exchange that answers a request; a text says why none does, and is a problem if that `isFinal`. */
  find(request: StoredRequest, isFinal: boolean): FoundExchange | string;
  /** What went wrong so far: requests without an answer, and exchanges that nobody asked for. */
  listProblems(): { readonly refused: readonly string[]; readonly unused: readonly string[] };
}

interface Entry {
  readonly exchange: Exchange;
  readonly normal: NormalRequest;
  readonly key: string;
  isTaken: boolean;
  isSeen: boolean;
}

export function createPlayer({ exchanges }: Recording, { match = 'strict', ignored = [] }: PlayerOptions = {}): Player {
  const toKey = (normal: NormalRequest): string => {
    if (isAccountCall(normal)) return `${normal.method} ${normal.path}`;
    return match === 'strict'
      ? hashRequest(normal)
      : `${findMethod(normal)} ${match === 'order' ? '' : findLastWords(normal)}`;
  };
  const entries = exchanges.map((exchange): Entry => {
    const normal = normaliseRequest(withoutMedia(exchange.request), ignored);
    return { exchange, normal, key: toKey(normal), isTaken: false, isSeen: false };
  });
  const byKey = groupBy(entries, ({ key }) => key);
  const refused: string[] = [];
  return {
    find(request, isFinal) {
      const normal = normaliseRequest(request, ignored);
      const same = byKey.get(toKey(normal)) ?? [];
      const entry = same.find(({ isTaken }) => !isTaken) ?? (isRepeatable(normal) ? same.at(-1) : undefined);
      if (entry === undefined && normal.path.endsWith(':loadCodeAssist'))
        return { exchange: ACCOUNT, putBack: () => {} };
      if (entry === undefined) {
        const why = explainRefusal(normal, same.length, entries);
        if (isFinal) refused.push(`${formatTarget(normal)}: ${why}`);
        return why;
      }
      entry.isTaken = true;
      entry.isSeen = true;
      return {
        exchange: entry.exchange,
        putBack() {
          entry.isTaken = false;
        },
      };
    },
    listProblems() {
      const seen = new Set(entries.filter(({ isSeen }) => isSeen).map(({ key }) => key));
      const unused = entries.filter(({ isSeen, normal, key }) => {
        if (isSeen || isAccountCall(normal)) return false;
        return !(normal.method === 'GET' && seen.has(key));
      });
      return { refused, unused: unused.map(({ exchange: { id, request } }) => `#${id} ${formatTarget(request)}`) };
    },
  };
}

/** As it is recorded today: another program may have written long data, or a password, into the line itself. */
function withoutMedia(request: StoredRequest): StoredRequest {
  return request.body === undefined ? request : { ...request, body: detachMedia(redactNamed(request.body), new Map()) };
}

function groupBy<Item>(items: readonly Item[], toKey: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = toKey(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** What a client of Code Assist asks about the account; how often, and with what, is its own affair. */
function isAccountCall({ path }: NormalRequest): boolean {
  return /\/v1internal(?::(?!(?:streamG|g)enerateContent$|countTokens$)|\/)/.test(path);
}

/** For a recording that began after the account was known. */
const ACCOUNT: Exchange = {
  ...{ v: 1, id: 0, at: '1970-01-01T00:00:00Z', ms: 0 },
  request: { method: 'POST', path: '/v1internal:loadCodeAssist', query: {}, headers: {} },
  response: {
    status: 200,
    headers: { 'content-type': 'application/json; charset=UTF-8' },
    chunks: [{ ms: 0, data: { currentTier: { id: 'standard-tier' }, cloudaicompanionProject: 'project' } }],
  },
};

/** Asking again changes nothing: a client that polls gets the last answer. */
function isRepeatable(request: NormalRequest): boolean {
  return request.method === 'GET' || isAccountCall(request);
}

/** `POST generateContent`; without a method of its own the resource, as `GET files`. */
function findMethod({ method, path }: NormalRequest): string {
  return `${method} ${/:(\w+)$/.exec(path)?.[1] ?? /\/v\w+\/(\w+)/.exec(path)?.[1] ?? path}`;
}

/** The last text of the user, and how many contents came after it: each step of a tool loop is another one. */
function findLastWords({ body }: NormalRequest): string {
  const { contents } = unwrapBody(body);
  const all = (isList(contents) ? contents : []).map(toJsonObject);
  const index = all.findLastIndex(({ role, parts }) => role !== 'model' && joinPartWords(parts) !== '');
  return `${all.length - index} ${joinPartWords(all[index]?.parts)}`;
}

function joinPartWords(parts: JsonValue | undefined): string {
  const texts = isList(parts) ? parts.map((part) => (isObject(part) ? part.text : undefined)) : [];
  return texts.filter((text) => typeof text === 'string').join('');
}

function explainRefusal(asked: NormalRequest, recordedCount: number, entries: readonly Entry[]): string {
  if (recordedCount > 0) {
    const times = recordedCount === 1 ? 'once' : `${recordedCount} times`;
    return `this request was recorded ${times}, and is asked for once more`;
  }
  const method = findMethod(asked);
  const similar = entries.filter(({ normal }) => findMethod(normal) === method);
  if (similar.length === 0) return `the recording has no ${method} (it has ${plural(entries.length, 'exchange')})`;
  const { entry, differences } = findNearestExchange(asked, similar);
  return `${formatDifferences(differences)} (compared with exchange ${entry.exchange.id})`;
}

const USED_WEIGHT = 0.2;

/** Rather one that was not used yet, if two are nearly alike. */
function findNearestExchange(
  asked: NormalRequest,
  entries: readonly Entry[],
): { readonly entry: Entry; readonly differences: readonly Difference[] } {
  const compared = entries.map((entry) => ({ entry, differences: listDifferences(entry.normal, asked) }));
  const rate = ({ entry, differences }: (typeof compared)[number]): number =>
    differences.reduce((sum, { weight }) => sum + weight, entry.isTaken ? USED_WEIGHT : 0);
  return compared.reduce((best, next) => (rate(next) < rate(best) ? next : best));
}
