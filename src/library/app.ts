import { findRequestedType } from '../auth/credential.ts';
import { createNoHomes, resolveHomesIfAny } from '../config/home.ts';
import { loadSettings } from '../config/settings.ts';
import type { App, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { checkEndpoint } from '../core/text/url.ts';
import { createGuestApp, type Guest } from '../platform/app.ts';
import type { ServiceOptions } from './gmn.d.ts';

/** The App of one run. Without `settings` it reads nothing of the user's; without `keepsFiles` it writes nothing either. */
export function createRunApp(
  guest: Guest,
  options: ServiceOptions,
  { signal, keepsFiles }: { readonly signal: AbortSignal; readonly keepsFiles: boolean },
): App {
  const { settings, cwd } = options;
  return createGuestApp(guest, {
    ...{ env: chooseVariables(options), cwd, signal },
    findHomes: settings || keepsFiles ? resolveHomesIfAny : (_env, _home, nowhere) => createNoHomes(nowhere),
    loadSettings: settings ? loadSettings : async ({ env }): Promise<Settings> => ({ env, notices: [] }),
  });
}

/** Those that would choose another credential or another server. */
const OTHERS = {
  GMN_AUTH: undefined,
  GOOGLE_GENAI_USE_GCA: undefined,
  GOOGLE_GENAI_USE_ENTERPRISE: undefined,
  GOOGLE_GENAI_USE_VERTEXAI: undefined,
} as const;

/** A server on this machine is not busy for long. */
const LOCAL_RETRY_DELAY = '10ms';

/** Throws AppError `config` if no credential may be sent to the server. */
function chooseVariables({ apiKey, server }: ServiceOptions): Env {
  if (server !== undefined) {
    const GEMINI_API_KEY = apiKey ?? 'demo';
    const { href } = checkEndpoint(String(server.url), 'server.url');
    return { ...OTHERS, GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: href, GMN_RETRY_DELAY: LOCAL_RETRY_DELAY };
  }
  return apiKey === undefined ? {} : { ...OTHERS, GEMINI_API_KEY: apiKey };
}

/** The auth type that the options choose. Throws AppError `auth` if there is none, or only stored ones, which may not be used. */
export function chooseAuth({ apiKey, server, settings }: ServiceOptions, { env }: App): string | undefined {
  if (apiKey?.trim() === '') {
    throw new AppError('auth', 'apiKey is empty', {
      hint: 'Leave it out to use GEMINI_API_KEY.',
      isMissing: true,
    });
  }
  if (apiKey !== undefined || server !== undefined) return 'gemini-api-key';
  if (settings) return undefined;
  const wanted = findRequestedType(undefined, { env, notices: [] });
  const isStored = wanted?.type === 'gemini-api-key' && !wanted.isGateway && !env.GEMINI_API_KEY?.trim();
  if (wanted !== undefined && !isStored) return undefined;
  throw new AppError('auth', 'there is no key in the environment', {
    hint: 'Set GEMINI_API_KEY, pass apiKey, or pass settings: true to use the credentials of the command line.',
    isMissing: true,
  });
}
