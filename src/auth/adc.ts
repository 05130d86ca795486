import { shareWork } from '../core/async.ts';
import type { AuthType, Credential } from '../core/credential.ts';
import { AppError, serverError } from '../core/error.ts';
import type { Clock, Env, SendHttp } from '../core/io.ts';
import { filterStrings, isObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import { sha256 } from '../platform/runtime/native.ts';
import type { CredentialChoice } from './choice.ts';
import { checkKeyDocument, findGcloudPath, findTargetAccount, IMPERSONATED, type KeyDocument } from './key-document.ts';
import { libraryTransport, type SeenResponse } from './library-fetch.ts';
import { mayHaveMetadata, metadataTokenSource } from './metadata-server.ts';
import { isToken } from './token.ts';
import { isTransient } from './token-endpoint.ts';

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

/** A key file, gcloud's file, or the metadata server. Throws AppError `auth` or `config` for an unusable file. */
export async function createAdcChoice(options: AdcOptions): Promise<CredentialChoice> {
  const { type, env, document } = options;
  const file = document ?? (await readKeyFile(env));
  if (file !== undefined) checkKeyDocument(file);
  const source = file === undefined ? createMetadataHeaders(options) : createLibraryHeaders(options, file);
  const shared = shareWork((_: 'headers', signal) => source(signal));
  const credential: Credential = {
    type,
    source: file?.source ?? 'application default credentials (metadata server)',
    account: sha256(file === undefined ? 'metadata' : findIdentity(file.value)).slice(0, 16),
    headers: (signal) => shared('headers', signal),
  };
  const choice = { credential, carrier: 'bearer', notices: [] } as const;
  if (file !== undefined) return choice;
  const checkMachine = async (): Promise<void> => {
    if (!(await mayHaveMetadata(options.realEnv))) throw nothingFoundError();
  };
  return { ...choice, check: checkMachine };
}

type HeaderSource = (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>;

/** Without Google's library, whose metadata request follows redirects and cannot be aborted. */
function createMetadataHeaders({ realEnv, send, clock, scopes = CLOUD_SCOPES }: AdcOptions): HeaderSource {
  const getToken = metadataTokenSource({ env: realEnv, send, clock, scopes });
  const project = realEnv.GOOGLE_CLOUD_QUOTA_PROJECT;
  return async (signal) => {
    const token = await getToken(signal);
    if (token === undefined) throw nothingFoundError();
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (project) headers['x-goog-user-project'] = project;
    return headers;
  };
}

function createLibraryHeaders({ send, scopes = CLOUD_SCOPES }: AdcOptions, file: KeyDocument): HeaderSource {
  let caller: AbortSignal;
  let seen: TokenAttempt = {};
  const transporterOptions = libraryTransport({
    send,
    signal: () => caller,
    onAnswer: (answer) => {
      seen = { response: answer };
    },
    onFailure: (failure) => {
      seen = { failure };
    },
  });
  const openClient = async () => {
    const { GoogleAuth, Impersonated } = (await import('./google-library.ts')).googleLibrary;
    const createClient = (credentials: KeyDocument['value']) =>
      new GoogleAuth({ scopes: [...scopes], clientOptions: { transporterOptions }, credentials }).getClient();
    const { type, source_credentials: source, delegates } = file.value;
    if (type !== IMPERSONATED || !isObject(source)) return createClient(file.value);
    // By itself the library would create the source client without our transport.
    return new Impersonated({
      sourceClient: await createClient(source),
      targetPrincipal: findTargetAccount(file.value) ?? '',
      targetScopes: [...scopes],
      delegates: [...filterStrings(delegates)],
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
    throw noTokenError(file, seen);
  };
}

/** The same places as the library, read here so that `auth status` can name the file and a `.env` file can set it. */
async function readKeyFile(env: Env): Promise<KeyDocument | undefined> {
  const named = env.GOOGLE_APPLICATION_CREDENTIALS;
  if (named) {
    const file = await readFileState(named);
    const value = file.kind === 'text' ? tryParseJson(file.text) : undefined;
    if (isObject(value)) return { source: `GOOGLE_APPLICATION_CREDENTIALS (${named})`, value };
    throw new AppError('auth', `GOOGLE_APPLICATION_CREDENTIALS names ${named}, ${formatProblem(file.kind)}`, {
      hint: 'Set it to a key file in JSON, or run: gcloud auth application-default login',
    });
  }
  const path = findGcloudPath(env);
  const file = path === undefined ? undefined : await readFileState(path);
  const value = file?.kind === 'text' ? tryParseJson(file.text) : undefined;
  return isObject(value) ? { source: 'gcloud application default credentials', value } : undefined;
}

function findIdentity(value: Readonly<Record<string, unknown>>): string {
  const { client_email: email, refresh_token: refreshToken, audience, client_id: id } = value;
  const named = [email, refreshToken, audience, id].find((field) => typeof field === 'string');
  return typeof named === 'string' ? named : JSON.stringify(value);
}

function formatProblem(kind: string): string {
  return kind === 'absent'
    ? 'which does not exist'
    : kind === 'unreadable'
      ? 'which cannot be read'
      : 'which is not JSON';
}

function nothingFoundError(): AppError {
  return serverError('auth', 'no application default credentials found', {
    hint: 'Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS',
  });
}

interface TokenAttempt {
  readonly response?: SeenResponse;
  readonly failure?: unknown;
}

const RETRY_HINT = 'Check the network and try again in a moment.';

/** Repeats none of the file's secrets. */
function noTokenError(file: KeyDocument, { response, failure }: TokenAttempt): AppError {
  const fail = (why: string, hint: string): AppError =>
    serverError('auth', `${file.source} gave no token: ${why}`, { hint });
  if (response === undefined) {
    if (failure === undefined) return fail('its content cannot be used', newKeyHint(file));
    return fail(failure instanceof AppError ? failure.shortMessage : 'the token server did not answer', RETRY_HINT);
  }
  const { status } = response;
  const code = findOauthError(tryParseJson(response.text));
  if (status === 200) return fail('the token server answered without a token that can be sent', RETRY_HINT);
  if (status >= 300 && status < 400) return fail(`the token server answered with a redirect (${status})`, RETRY_HINT);
  if (isTransient(status)) return fail(`the token server answered ${status}`, RETRY_HINT);
  return fail(`the token server refused it (${code ?? status})`, newKeyHint(file));
}

function newKeyHint({ value }: KeyDocument): string {
  return value.type === 'authorized_user'
    ? 'Run: gcloud auth application-default login'
    : 'Check that the account and its key still exist and are enabled, or set GOOGLE_APPLICATION_CREDENTIALS to another file.';
}

function findOauthError(body: unknown): string | undefined {
  const error = isObject(body) ? body.error : undefined;
  const code = isObject(error) ? error.status : error;
  return typeof code === 'string' && /^[A-Za-z_]{1,40}$/.test(code) ? code : undefined;
}
