import { AppError } from '../core/error.ts';
import type { Backend } from './backend.ts';
import { endpointUrl, modelPath } from './endpoint.ts';

export const GEMINI_API_URL = 'https://generativelanguage.googleapis.com';

const AUTH_HINT = 'Set GEMINI_API_KEY to a valid key: https://aistudio.google.com/apikey';

export interface GeminiApiOptions {
  readonly key: string;
  /** Already checked; the public service if absent. */
  readonly baseUrl?: URL;
  readonly userAgent: string;
}

/** The Gemini API v1beta with an API key. The key travels in a header only. */
export function geminiApi({ key, baseUrl = new URL(GEMINI_API_URL), userAgent }: GeminiApiOptions): Backend {
  return {
    name: 'gemini-api',
    credential: 'key',
    authHint: AUTH_HINT,
    canRenew: false,
    async prepare({ model, contents, systemInstruction, generationConfig }) {
      checkKey(key);
      return {
        method: 'POST',
        url: endpointUrl(baseUrl, `v1beta/${modelPath(model)}:streamGenerateContent?alt=sse`),
        headers: { 'content-type': 'application/json', 'user-agent': userAgent, 'x-goog-api-key': key },
        body: JSON.stringify({ contents, systemInstruction, generationConfig }),
      };
    },
    unwrap: (event) => event,
    conceal: (text) => (key === '' ? text : text.replaceAll(key, '‹redacted›')),
  };
}

/** A pasted line end or quotation mark would make the header invalid, with an error that helps nobody. */
function checkKey(key: string): void {
  if (/^[\x21-\x7e]*$/.test(key)) return;
  throw new AppError('auth', 'authentication failed: the API key holds characters no key has', { hint: AUTH_HINT });
}
