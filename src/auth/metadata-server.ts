import { AppError } from '../core/error.ts';
import type { Clock, Env, HttpResponse, SendHttp } from '../core/io.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import { createDeadline } from '../platform/runtime/clock.ts';
import { readBodyText } from './library-fetch.ts';
import { isFresh, isToken } from './token.ts';
import { isTransient } from './token-endpoint.ts';

/** https://cloud.google.com/compute/docs/metadata/overview */
const HOST = 'metadata.google.internal';
const PATH = '/computeMetadata/v1/instance/service-accounts/default/token';
const FLAVOR = 'metadata-flavor';
const DEADLINE_MS = 10_000;
/** Right after a container starts, the server may not be up yet. */
const PAUSES_MS = [250, 1000];

interface MetadataOptions {
  /** The real one. `GCE_METADATA_IP`, `GCE_METADATA_HOST`, `METADATA_SERVER_DETECTION`: as in Google's library. */
  readonly env: Env;
  readonly send: SendHttp;
  readonly clock: Clock;
  readonly scopes: readonly string[];
}

/** Cached until five minutes before it expires; undefined without a server. Rejects only with the signal's reason. */
export function metadataTokenSource(options: MetadataOptions): (signal: AbortSignal) => Promise<string | undefined> {
  const { env, clock } = options;
  let kept: MetadataToken | undefined;
  return async (signal) => {
    if (kept !== undefined && isFresh(kept, clock.now())) return kept.accessToken;
    if (env.METADATA_SERVER_DETECTION?.trim().toLowerCase() === 'none') return undefined;
    const limit = createDeadline(signal, DEADLINE_MS, () => new AppError('api', 'the metadata server does not answer'));
    try {
      kept = await requestToken(options, limit.signal);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof AppError)) throw thrown;
      return undefined;
    } finally {
      limit.clear();
    }
    return kept?.accessToken;
  };
}

const CLOUD_VARIABLES = [
  'GCE_METADATA_IP',
  'GCE_METADATA_HOST',
  'K_SERVICE',
  'CLOUD_RUN_JOB',
  'FUNCTION_NAME',
  'CLOUD_SHELL',
];
/** Linux only. Google's machines say "Google". */
const VENDOR_FILE = '/sys/class/dmi/id/bios_vendor';

/** Guesses from the environment and the vendor file; sends no request. */
export async function mayHaveMetadata(env: Env): Promise<boolean> {
  const detection = env.METADATA_SERVER_DETECTION?.trim().toLowerCase();
  if (detection === 'none') return false;
  if (detection === 'assume-present' || CLOUD_VARIABLES.some((name) => env[name])) return true;
  const vendor = await readFileState(VENDOR_FILE);
  return vendor.kind === 'text' && vendor.text.startsWith('Google');
}

interface MetadataToken {
  readonly accessToken: string;
  readonly expiresAt: number;
}

async function requestToken(options: MetadataOptions, signal: AbortSignal): Promise<MetadataToken | undefined> {
  const { send, clock } = options;
  const url = tokenUrl(options);
  for (let attempt = 0; ; attempt += 1) {
    const pauseMs = PAUSES_MS[attempt];
    try {
      const answer = await send({ method: 'GET', url, headers: { [FLAVOR]: 'Google' } }, signal);
      const token = tryParseMetadataToken(answer, await readBodyText(answer.body), clock.now());
      if (token !== undefined || !isTransient(answer.status) || pauseMs === undefined) return token;
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.retry === undefined || pauseMs === undefined) throw thrown;
    }
    await clock.sleep(pauseMs ?? 0, signal);
  }
}

function tokenUrl({ env, scopes }: MetadataOptions): URL {
  const host = (env.GCE_METADATA_IP || env.GCE_METADATA_HOST || HOST).trim();
  const base = /^https?:\/\//.test(host) ? host : `http://${host}`;
  if (!URL.canParse(base)) {
    throw new AppError('config', 'GCE_METADATA_HOST does not name a host', {
      hint: 'Set it to a host name, or unset it.',
    });
  }
  const url = new URL(PATH, base);
  url.searchParams.set('scopes', scopes.join(','));
  return url;
}

/** Checks the flavor header, since something else, e.g. a captive portal, may answer under that name. */
function tryParseMetadataToken(
  { status, headers }: HttpResponse,
  text: string,
  now: number,
): MetadataToken | undefined {
  const body = status === 200 && headers[FLAVOR] === 'Google' ? tryParseJson(text) : undefined;
  if (!isObject(body) || !isToken(body.access_token)) return undefined;
  const seconds = Number(body.expires_in);
  return { accessToken: body.access_token, expiresAt: now + Math.max(seconds, 0) * 1000 };
}
