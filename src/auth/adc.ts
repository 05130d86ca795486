import { isAbsolute, join } from 'node:path';
import { sharedWork } from '../core/async.ts';
import type { AuthType, Credential } from '../core/credential.ts';
import { AppError, refused } from '../core/error.ts';
import type { Clock, Env, SendHttp } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { readFileState } from '../platform/files/write.ts';
import { sha256 } from '../platform/runtime/native.ts';
import type { Choice } from './choice.ts';
import { checkKeyDocument, IMPERSONATED, type KeyDocument, targetOf } from './key-document.ts';
import { loadGoogleAuth } from './lazy.ts';
import { libraryTransport, type SeenAnswer } from './library-fetch.ts';
import { mayHaveMetadata, metadataToken } from './metadata-server.ts';
import { isToken, parseJson } from './token.ts';

const CLOUD_SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];
/** What the official CLI requests when a service account is used in place of a Google sign-in. */
export const SIGN_IN_SCOPES = [
  ...CLOUD_SCOPES,
  'https://www.googleapis.com/auth/userinfo.email',
  'https://www.googleapis.com/auth/userinfo.profile',
];

interface AdcOptions {
  readonly type: AuthType;
  readonly env: Env;
  /** Without `.env` files: these must not choose the metadata server. */
  readonly realEnv: Env;
  readonly send: SendHttp;
  readonly clock: Clock;
  readonly scopes?: readonly string[];
  /** Content of a key file found in place of a sign-in, not by the usual rules. */
  readonly document?: KeyDocument;
}

/**
 * Google's application default credentials: a key file, gcloud's file, or the metadata server. Throws AppError `auth`
 * or `config` for a file that cannot be used.
 */
export async function adcChoice(options: AdcOptions): Promise<Choice> {
  const { type, env, document } = options;
  const file = document ?? (await keyFile(env));
  if (file !== undefined) checkKeyDocument(file);
  const source = file === undefined ? machineHeaders(options) : libraryHeaders(options, file);
  const shared = sharedWork((_: 'headers', signal) => source(signal));
  const credential: Credential = {
    type,
    source: file?.source ?? 'application default credentials (metadata server)',
    account: sha256(file === undefined ? 'metadata' : identityOf(file.value)).slice(0, 16),
    headers: (signal) => shared('headers', signal),
  };
  const choice = { credential, carrier: 'bearer', notices: [] } as const;
  if (file !== undefined) return choice;
  const look = async (): Promise<void> => {
    if (!(await mayHaveMetadata(options.realEnv))) throw nothingFound();
  };
  return { ...choice, look };
}

type HeaderSource = (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>;

/** Without Google's library, whose metadata request follows redirects and cannot be aborted. */
function machineHeaders({ realEnv, send, clock, scopes = CLOUD_SCOPES }: AdcOptions): HeaderSource {
  const tokenOf = metadataToken({ env: realEnv, send, clock, scopes });
  const project = realEnv.GOOGLE_CLOUD_QUOTA_PROJECT;
  return async (signal) => {
    const token = await tokenOf(signal);
    if (token === undefined) throw nothingFound();
    return { authorization: `Bearer ${token}`, ...(project ? { 'x-goog-user-project': project } : {}) };
  };
}

function libraryHeaders({ send, scopes = CLOUD_SCOPES }: AdcOptions, file: KeyDocument): HeaderSource {
  let caller: AbortSignal;
  let seen: Seen = {};
  const transporterOptions = libraryTransport({
    send,
    signal: () => caller,
    onAnswer: (answer) => {
      seen = { answer };
    },
    onFailure: (failure) => {
      seen = { failure };
    },
  });
  const openClient = async () => {
    const { GoogleAuth, Impersonated } = await loadGoogleAuth();
    const clientOf = (credentials: KeyDocument['value']) =>
      new GoogleAuth({ scopes: [...scopes], clientOptions: { transporterOptions }, credentials }).getClient();
    const { type, source_credentials: source, delegates } = file.value;
    if (type !== IMPERSONATED || !isObject(source)) return clientOf(file.value);
    // By itself the library would create the source client without our transport.
    return new Impersonated({
      sourceClient: await clientOf(source),
      targetPrincipal: targetOf(file.value) ?? '',
      targetScopes: [...scopes],
      delegates: stringsOf(delegates),
      transporterOptions,
    });
  };
  let client: ReturnType<typeof openClient> | undefined;
  return async (signal) => {
    caller = signal;
    seen = {};
    try {
      client ??= openClient();
      const headers: Record<string, string> = {};
      for (const [name, value] of await (await client).getRequestHeaders()) headers[name] = value;
      const token = headers.authorization?.replace(/^Bearer /, '');
      // If the response has no token, the library sends "Bearer undefined".
      if (isToken(token) && token !== 'undefined') return headers;
    } catch {
      // The library's errors may contain keys and tokens; `seen` has what we need.
    }
    client = undefined;
    signal.throwIfAborted();
    throw noTokenFrom(file, seen);
  };
}

/** The same places as the library, read here so that `auth status` can name the file and a `.env` file can set it. */
async function keyFile(env: Env): Promise<KeyDocument | undefined> {
  const named = env.GOOGLE_APPLICATION_CREDENTIALS;
  if (named) {
    const file = await readFileState(named);
    const value = file.kind === 'text' ? parseJson(file.text) : undefined;
    if (isObject(value)) return { source: `GOOGLE_APPLICATION_CREDENTIALS (${named})`, value };
    throw new AppError(
      'auth',
      `authentication failed: GOOGLE_APPLICATION_CREDENTIALS names ${named}, ${whyNot(file.kind)}`,
      {
        hint: 'Name a key file in JSON, or run: gcloud auth application-default login',
      },
    );
  }
  const path = gcloudFile(env);
  const file = path === undefined ? undefined : await readFileState(path);
  const value = file?.kind === 'text' ? parseJson(file.text) : undefined;
  return isObject(value) ? { source: 'gcloud application default credentials', value } : undefined;
}

/** https://cloud.google.com/docs/authentication/application-default-credentials#personal */
function gcloudFile(env: Env): string | undefined {
  const directory =
    env.CLOUDSDK_CONFIG ||
    (env.APPDATA ? join(env.APPDATA, 'gcloud') : env.HOME ? join(env.HOME, '.config', 'gcloud') : undefined);
  return directory !== undefined && isAbsolute(directory)
    ? join(directory, 'application_default_credentials.json')
    : undefined;
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function identityOf(value: Readonly<Record<string, unknown>>): string {
  const { client_email: email, refresh_token: refreshToken, audience, client_id: id } = value;
  const named = [email, refreshToken, audience, id].find((field) => typeof field === 'string');
  return typeof named === 'string' ? named : JSON.stringify(value);
}

function whyNot(kind: string): string {
  return kind === 'absent'
    ? 'which does not exist'
    : kind === 'unreadable'
      ? 'which cannot be read'
      : 'which is not JSON';
}

function nothingFound(): AppError {
  return refused('auth', 'no application default credentials found', {
    hint: 'Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS',
  });
}

/** The last response or failure while Google's library tried to get a token. */
interface Seen {
  readonly answer?: SeenAnswer;
  readonly failure?: unknown;
}

const AGAIN = 'Check the network and try again in a moment.';

/** Says why, without any of the file's secrets. */
function noTokenFrom(file: KeyDocument, { answer, failure }: Seen): AppError {
  const fail = (why: string, hint: string): AppError =>
    refused('auth', `${file.source} gave no token: ${why}`, { hint });
  if (answer === undefined) {
    if (failure === undefined) return fail('what is in it cannot be used', newKey(file));
    return fail(failure instanceof AppError ? failure.words : 'the token server did not answer', AGAIN);
  }
  const { status } = answer;
  const code = codeOf(parseJson(answer.text));
  if (status === 200) return fail('the token server answered without a token that can be sent', AGAIN);
  if (status >= 300 && status < 400) return fail(`the token server answered with a redirect (${status})`, AGAIN);
  if (status >= 500 || status === 429 || status === 408) return fail(`the token server answered ${status}`, AGAIN);
  return fail(`the token server refused it (${code ?? status})`, newKey(file));
}

function newKey({ value }: KeyDocument): string {
  return value.type === 'authorized_user'
    ? 'Run: gcloud auth application-default login'
    : 'Check that the account and its key still exist and may be used, or name another file in GOOGLE_APPLICATION_CREDENTIALS.';
}

/** The error code of OAuth, or the status of a Google API error. */
function codeOf(body: unknown): string | undefined {
  const error = isObject(body) ? body.error : undefined;
  const code = isObject(error) ? error.status : error;
  return typeof code === 'string' && /^[A-Za-z_]{1,40}$/.test(code) ? code : undefined;
}
