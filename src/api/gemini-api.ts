import type { HttpRequest } from '../core/http.ts';
import type { ModelRequest } from '../core/model.ts';
import type { Backend } from './backend.ts';
import { endpointUrl, modelPath } from './endpoint.ts';
import type { Identity } from './identity.ts';

const GEMINI_API_URL = 'https://generativelanguage.googleapis.com';
const API_VERSION = 'v1beta';

/** Where the Gemini API is, and how gmn introduces itself there. */
export interface GeminiApiPlace {
  /** Already checked; the public service if absent. */
  readonly baseUrl?: URL;
  /** Already checked; `v1beta` if absent. */
  readonly apiVersion?: string;
  readonly userAgent: string;
}

/** A URL of the Gemini API. */
export function geminiApiUrl({ baseUrl, apiVersion = API_VERSION }: GeminiApiPlace, path: string): URL {
  return endpointUrl(baseUrl ?? new URL(GEMINI_API_URL), `${apiVersion}/${path}`);
}

/** The Gemini API, with an API key or the token of an account; either travels in a header only. */
export function geminiApi(place: GeminiApiPlace, identity: Identity): Backend {
  const draft = ({ model, contents, systemInstruction, generationConfig }: ModelRequest): HttpRequest => ({
    method: 'POST',
    url: geminiApiUrl(place, `${modelPath(model)}:streamGenerateContent?alt=sse`),
    headers: { 'content-type': 'application/json', 'user-agent': place.userAgent },
    body: JSON.stringify({ contents, systemInstruction, generationConfig }),
  });
  return {
    name: 'gemini-api',
    credential: identity.kind,
    authHint: identity.authHint,
    canRenew: identity.canRenew,
    async prepare(request, options) {
      const drafted = draft(request);
      return { ...drafted, headers: { ...drafted.headers, ...(await identity.headers(options)) } };
    },
    preview: async (request) => draft(request),
    unwrap: (event) => event,
    conceal: identity.conceal,
  };
}
