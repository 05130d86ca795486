export type Backend = 'gemini' | 'vertex' | 'code-assist';

const VERBS = [
  'generateContent',
  'streamGenerateContent',
  'countTokens',
  'embedContent',
  'batchEmbedContents',
  'predict',
] as const;

export type Verb = (typeof VERBS)[number];

export type Route =
  /** `model` is absent on Code Assist, where the envelope names it. */
  | { readonly kind: 'model'; readonly backend: Backend; readonly verb: Verb; readonly model?: string }
  | { readonly kind: 'models'; readonly backend: Backend; readonly id?: string }
  | { readonly kind: 'code-assist'; readonly method: string }
  | { readonly kind: 'operation'; readonly name: string }
  | { readonly kind: 'token' }
  | { readonly kind: 'unknown' };

const GEMINI = /^\/(?:v1|v1alpha|v1beta|v1beta1)\/models(?:\/([^/:]+)(?::(\w+))?)?$/;
const VERTEX =
  /^\/(?:v1|v1beta1)\/(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google\/models(?:\/([^/:]+)(?::(\w+))?)?$/;

export function findRoute(method: string, path: string): Route {
  const clean = path.replace(/\/{2,}/g, '/');
  if (method === 'POST' && (clean === '/token' || clean === '/oauth2/token')) return { kind: 'token' };
  return matchModelRoute(method, clean) ?? matchCodeAssistRoute(method, clean) ?? { kind: 'unknown' };
}

function matchModelRoute(method: string, path: string): Route | undefined {
  const gemini = GEMINI.exec(path);
  const match = gemini ?? VERTEX.exec(path);
  if (match === null) return undefined;
  const backend = gemini === null ? 'vertex' : 'gemini';
  const id = match[1] === undefined ? undefined : decodeSegment(match[1]);
  const verb = match[2];
  if (verb === undefined) {
    if (method !== 'GET') return undefined;
    return id === undefined ? { kind: 'models', backend } : { kind: 'models', backend, id };
  }
  if (method !== 'POST' || id === undefined || !isVerb(verb)) return undefined;
  return { kind: 'model', backend, verb, model: id };
}

function matchCodeAssistRoute(method: string, path: string): Route | undefined {
  const operation = /^\/v1internal\/(.+)$/.exec(path)?.[1];
  if (method === 'GET' && operation !== undefined) return { kind: 'operation', name: operation };
  const name = /^\/v1internal:(\w+)$/.exec(path)?.[1];
  if (name === undefined) return undefined;
  const backend = 'code-assist';
  if (method === 'POST' && (name === 'generateContent' || name === 'streamGenerateContent' || name === 'countTokens')) {
    return { kind: 'model', backend, verb: name };
  }
  return { kind: backend, method: `${method} ${name}` };
}

function isVerb(name: string): name is Verb {
  return VERBS.some((verb) => verb === name);
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
