import { isObject } from '../../core/json.ts';

type Kind = 'text' | 'object' | 'texts';

/** What the requests we answer take; a `?` behind the kind: it may be left out. The SDK would tell of a fault in many lines. */
const PARAMS: Readonly<Record<string, Readonly<Record<string, Kind | `${Kind}?`>>>> = {
  initialize: { protocolVersion: 'text', capabilities: 'object', clientInfo: 'object' },
  'tools/list': { cursor: 'text?' },
  'tools/call': { name: 'text', arguments: 'object?' },
  'prompts/list': { cursor: 'text?' },
  'prompts/get': { name: 'text', arguments: 'texts?' },
  'resources/list': { cursor: 'text?' },
  'resources/templates/list': { cursor: 'text?' },
  'resources/read': { uri: 'text' },
};

const WORDS: Readonly<Record<Kind, string>> = {
  text: 'a string',
  object: 'an object',
  texts: 'an object of strings',
};

/** What is wrong with the params of a request, in one line; undefined: nothing that we know of. */
export function paramsFault(method: string, params: Readonly<Record<string, unknown>>): string | undefined {
  const wanted = Object.hasOwn(PARAMS, method) ? (PARAMS[method] ?? {}) : {};
  for (const [name, spelled] of Object.entries(wanted)) {
    const value = params[name];
    if (value === undefined && spelled.endsWith('?')) continue;
    const kind = kindOf(spelled);
    if (!fits(kind, value)) return `${name} must be ${WORDS[kind]}`;
  }
  return undefined;
}

function kindOf(spelled: Kind | `${Kind}?`): Kind {
  if (spelled.startsWith('texts')) return 'texts';
  return spelled.startsWith('text') ? 'text' : 'object';
}

function fits(kind: Kind, value: unknown): boolean {
  if (kind === 'text') return typeof value === 'string';
  if (!isObject(value)) return false;
  return kind === 'object' || Object.values(value).every((item) => typeof item === 'string');
}
