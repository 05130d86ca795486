import { type Backend, createBackend, endpointUrl, type Identity, modelPath, toRequestBody } from './backend.ts';

const GEMINI_API_URL = 'https://generativelanguage.googleapis.com';
const OWN_HOST = new URL(GEMINI_API_URL).host;
export const API_VERSION = 'v1beta';

export interface GeminiApiEndpoint {
  /** Validated by the caller; Google's own if absent. */
  readonly baseUrl?: URL;
  /** Validated by the caller; `v1beta` if absent. */
  readonly apiVersion?: string;
  readonly userAgent: string;
  /** Whether Google may keep requests and answers for the project's logs; false if absent. */
  readonly store?: boolean;
}

export function geminiApiUrl({ baseUrl, apiVersion = API_VERSION }: GeminiApiEndpoint, path: string): URL {
  return endpointUrl(baseUrl ?? new URL(GEMINI_API_URL), `${apiVersion}/${path}`);
}

/**
 * `store` of a request, which projects created since October 2026 have on unless it is sent. Only Google's own host is known
 * to read it: a gateway may refuse a field that it does not know.
 * https://aistudio.google.com/docs/logs-datasets
 */
export function toStoreField(place: GeminiApiEndpoint): { readonly store?: boolean } {
  return geminiApiUrl(place, '').host === OWN_HOST ? { store: place.store ?? false } : {};
}

/** The error of a service that does not know the field, or does not take its value. */
const REFUSED_STORE =
  /(?:Unknown (?:name|field)|Invalid value at|"field":|field|parameter|argument)\W{1,6}store\b|["'`]store\\?["'`] (?:is|was) not /i;

export function geminiApi(place: GeminiApiEndpoint, identity: Identity): Backend {
  let fields = toStoreField(place);
  return createBackend({
    name: 'gemini-api',
    identity,
    userAgent: place.userAgent,
    draft: (request) => ({
      url: geminiApiUrl(place, `${modelPath(request.model)}:streamGenerateContent?alt=sse`),
      body: { ...toRequestBody(request), ...fields },
    }),
    repair: async ({ status, body }) => {
      if (status !== 400 || fields.store === undefined || !REFUSED_STORE.test(body)) return false;
      fields = {};
      return true;
    },
  });
}
