import { type Backend, createBackend, endpointUrl, type Identity, modelPath, toRequestBody } from './backend.ts';

const GEMINI_API_URL = 'https://generativelanguage.googleapis.com';
export const API_VERSION = 'v1beta';

export interface GeminiApiEndpoint {
  /** Validated by the caller; Google's own if absent. */
  readonly baseUrl?: URL;
  /** Validated by the caller; `v1beta` if absent. */
  readonly apiVersion?: string;
  readonly userAgent: string;
}

export function geminiApiUrl({ baseUrl, apiVersion = API_VERSION }: GeminiApiEndpoint, path: string): URL {
  return endpointUrl(baseUrl ?? new URL(GEMINI_API_URL), `${apiVersion}/${path}`);
}

export function geminiApi(place: GeminiApiEndpoint, identity: Identity): Backend {
  return createBackend({
    name: 'gemini-api',
    identity,
    userAgent: place.userAgent,
    draft: (request) => ({
      url: geminiApiUrl(place, `${modelPath(request.model)}:streamGenerateContent?alt=sse`),
      body: toRequestBody(request),
    }),
  });
}
