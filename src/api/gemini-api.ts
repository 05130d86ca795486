import { type Backend, backendOf, endpointUrl, type Identity, modelPath } from './backend.ts';

const GEMINI_API_URL = 'https://generativelanguage.googleapis.com';
const API_VERSION = 'v1beta';

/** Where the Gemini API is, and how gmn introduces itself there. */
export interface GeminiApiPlace {
  /** Already checked; Google’s own if absent. */
  readonly baseUrl?: URL;
  /** Already checked; `v1beta` if absent. */
  readonly apiVersion?: string;
  readonly userAgent: string;
}

/** A URL of the Gemini API. */
export function geminiApiUrl({ baseUrl, apiVersion = API_VERSION }: GeminiApiPlace, path: string): URL {
  return endpointUrl(baseUrl ?? new URL(GEMINI_API_URL), `${apiVersion}/${path}`);
}

/** The Gemini API, with an API key or the token of an account. */
export function geminiApi(place: GeminiApiPlace, identity: Identity): Backend {
  return backendOf({
    name: 'gemini-api',
    identity,
    userAgent: place.userAgent,
    draft: ({ model, contents, systemInstruction, tools, safetySettings, generationConfig }) => ({
      url: geminiApiUrl(place, `${modelPath(model)}:streamGenerateContent?alt=sse`),
      body: { contents, systemInstruction, tools, safetySettings, generationConfig },
    }),
  });
}
