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

type BatchAction = 'list' | 'get' | 'cancel' | 'delete';

export type Route =
  /** `model` is absent on Code Assist, where the envelope names it. */
  | { readonly kind: 'model'; readonly backend: Backend; readonly verb: Verb; readonly model?: string }
  | { readonly kind: 'models'; readonly backend: Backend; readonly id?: string }
  | { readonly kind: 'code-assist'; readonly method: string }
  | { readonly kind: 'operation'; readonly name: string }
  | { readonly kind: 'batch-creation'; readonly model: string }
  /** The id of a list is empty. */
  | { readonly kind: 'batches'; readonly action: BatchAction; readonly id: string }
  /** `id` is absent for the list; `isDownload` asks for the content. */
  | { readonly kind: 'files'; readonly method: string; readonly id?: string; readonly isDownload?: true }
  | { readonly kind: 'upload' }
  | { readonly kind: 'token' }
  | { readonly kind: 'unknown' };

const GEMINI = /^\/(?:v1|v1alpha|v1beta|v1beta1)\/models(?:\/([^/:]+)(?::(\w+))?)?$/;
const VERTEX =
  /^\/(?:v1|v1beta1)\/(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google\/models(?:\/([^/:]+)(?::(\w+))?)?$/;

const UPLOAD = /^\/upload\/(?:v1|v1alpha|v1beta)\/files$/;
const FILES = /^\/(?:download\/)?(?:v1|v1alpha|v1beta)\/files(?:\/([a-z\d-]+)(:download)?)?$/;

export function findRoute(method: string, path: string): Route {
  const clean = path.replace(/\/{2,}/g, '/');
  if (method === 'POST' && (clean === '/token' || clean === '/oauth2/token')) return { kind: 'token' };
  if (method === 'POST' && UPLOAD.test(clean)) return { kind: 'upload' };
  return (
    matchBatchRoute(method, clean) ??
    matchModelRoute(method, clean) ??
    matchFileRoute(method, clean) ??
    matchCodeAssistRoute(method, clean) ?? { kind: 'unknown' }
  );
}

const BATCHES = /^\/(?:v1alpha|v1beta)\/batches(?:\/([^/:]+)(:cancel)?)?$/;

function matchBatchRoute(method: string, path: string): Route | undefined {
  const [, model, verb] = GEMINI.exec(path) ?? [];
  if (model !== undefined && verb === 'batchGenerateContent') {
    return method === 'POST' ? { kind: 'batch-creation', model: decodeSegment(model) } : undefined;
  }
  const match = BATCHES.exec(path);
  if (match === null) return undefined;
  const [, id, cancels] = match;
  if (id === undefined) return method === 'GET' ? { kind: 'batches', action: 'list', id: '' } : undefined;
  const action = { GET: 'get', POST: 'cancel', DELETE: 'delete' }[method] as BatchAction | undefined;
  const fits = action !== undefined && (action === 'cancel') === (cancels !== undefined);
  return fits ? { kind: 'batches', action, id: decodeSegment(id) } : undefined;
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

function matchFileRoute(method: string, path: string): Route | undefined {
  const match = FILES.exec(path);
  if (match === null) return undefined;
  const [, id, verb] = match;
  if (id === undefined) return method === 'GET' ? { kind: 'files', method } : undefined;
  if (verb !== undefined) return method === 'GET' ? { kind: 'files', method, id, isDownload: true } : undefined;
  return method === 'GET' || method === 'DELETE' ? { kind: 'files', method, id } : undefined;
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
