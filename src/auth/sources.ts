import { dirname, join, relative } from 'node:path';
import type { Homes } from '../core/app.ts';
import type { AuthType } from '../core/credential.ts';
import { AppError, type ErrorOptions } from '../core/error.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import { detectMachine } from '../platform/host.ts';
import { formatAssignment } from '../platform/runtime/system.ts';
import { createAdcChoice } from './adc.ts';
import { type ChoiceInput, type CredentialChoice, createKeyChoice, type RequestedType } from './choice.ts';
import { keyStore } from './key-store.ts';
import { withUserAgent } from './library-fetch.ts';
import { geminiFile, nameKeyPlace } from './official-files.ts';
import {
  API_KEY,
  avoidsKeyring,
  ENCRYPTED_FILE,
  encryptedFile,
  keychain,
  type SecretStoreOptions,
} from './official-secrets.ts';
import { chooseSignIn } from './sign-in.ts';

/** Throws AppError `auth` if there is none, or not the requested one. */
export async function chooseSource(input: ChoiceInput, wanted: RequestedType | undefined): Promise<CredentialChoice> {
  const choice = await findCredential({ ...input, send: withUserAgent(input.send, `gmn/${input.version}`) }, wanted);
  const { type, source } = choice.credential;
  input.trace(`auth: ${type} from ${source}${wanted === undefined ? '' : ` (${wanted.requestedBy})`}`);
  return choice;
}

async function findCredential(input: ChoiceInput, wanted: RequestedType | undefined): Promise<CredentialChoice> {
  const { settings } = input;
  switch (wanted?.type) {
    case 'gemini-api-key':
      return (
        (await readStoredKey(input)) ??
        (await readOfficialKey(input)) ??
        (await failWith(noCredentialError('API key', input, { hint: KEY_HINT })))
      );
    case 'vertex-ai': {
      const key = settings.env.GOOGLE_API_KEY;
      if (key?.trim()) return createKeyChoice({ type: 'vertex-ai', key, source: 'GOOGLE_API_KEY', env: settings.env });
      return chooseAdc(input, 'vertex-ai');
    }
    case 'compute-default-credentials':
      return chooseAdc(input, 'compute-default-credentials');
    case 'oauth-personal':
      return (await chooseSignIn(input)) ?? (await failWith(notSignedInError(input, wanted.requestedBy)));
    case undefined:
      return (
        (await readStoredKey(input)) ??
        (await chooseSignIn(input)) ??
        (await failWith(noCredentialError('Gemini credentials', input, { hint: HINT, guide: GUIDE })))
      );
  }
}

function chooseAdc({ settings, env: realEnv, send, clock }: ChoiceInput, type: AuthType): Promise<CredentialChoice> {
  return createAdcChoice({ type, env: settings.env, realEnv, send, clock });
}

async function failWith(error: Promise<AppError> | AppError): Promise<never> {
  throw await error;
}

async function readStoredKey(input: ChoiceInput): Promise<CredentialChoice | undefined> {
  const stored = await keyStore(input.homes().gmn, input.machine ?? detectMachine(), input.clock).read();
  if (stored === undefined) return undefined;
  const source = nameKeyPlace(input, stored.place);
  return createKeyChoice({ type: 'gemini-api-key', key: stored.key, source, env: input.settings.env });
}

async function readOfficialKey(input: ChoiceInput): Promise<CredentialChoice | undefined> {
  const { clock, settings, signal, notify = () => {} } = input;
  const options: SecretStoreOptions = { machine: input.machine ?? detectMachine(), clock, notify };
  const isMac = options.machine.platform === 'darwin' && !avoidsKeyring(settings.env);
  for (const place of [
    ...(isMac ? [keychain(options)] : []),
    encryptedFile(geminiFile(input, ENCRYPTED_FILE), options),
  ]) {
    const password = await place.read(API_KEY, signal);
    const key = password === undefined ? undefined : tryParseKeychainKey(tryParseJson(password));
    if (key !== undefined)
      return createKeyChoice({ type: 'gemini-api-key', key, source: place.name, env: settings.env });
  }
  return undefined;
}

function tryParseKeychainKey(value: unknown): string | undefined {
  if (!isObject(value) || !isObject(value.token)) return undefined;
  const { accessToken } = value.token;
  return typeof accessToken === 'string' && accessToken.trim() !== '' ? accessToken : undefined;
}

function notSignedInError(input: ChoiceInput, by: string): AppError {
  const hasKey = Boolean(input.settings.env.GEMINI_API_KEY?.trim());
  const other = hasKey ? ', or use your API key: gmn --auth gemini-api-key …' : '';
  const { gemini, isMissing } = input.homes();
  const where = isMissing ? 'no home directory to have one in' : `none in ${join(gemini, 'oauth_creds.json')}`;
  return new AppError('auth', `${by} asks for a Google sign-in, but there is ${where}`, {
    hint: isMissing ? `Set HOME${other}.` : `Please sign in using: gemini${other}`,
    isMissing: true,
  });
}

const KEY_HINT = 'Set GEMINI_API_KEY, or store a key: gmn auth set-key';
const HINT = 'Set GEMINI_API_KEY, store a key with: gmn auth set-key, sign in with: gemini, or add --demo';
const GUIDE = [
  'Do one of these:',
  `  ${formatAssignment('GEMINI_API_KEY', '<key>').padEnd(29)} get one at https://aistudio.google.com/apikey`,
  '  gmn auth set-key              store that key, in the keyring or a private file',
  "  gemini                        official CLI's sign-in (Workspace, Code Assist)",
  '  gmn --demo "hello"            try gmn offline, no account needed',
  '  gmn chat --demo               the same as a chat',
].join('\n');

async function noCredentialError(
  what: string,
  { cwd, homes }: ChoiceInput,
  advice: ErrorOptions<'auth'>,
): Promise<AppError> {
  const found = await findProjectKey(cwd, homes());
  const unread = found === undefined ? '' : ` (${formatUnread(found, cwd)})`;
  return new AppError('auth', `no ${what} found${unread}`, { ...advice, isMissing: true });
}

interface ProjectKey {
  readonly path: string;
  readonly name: string;
}

function formatUnread({ path, name }: ProjectKey, cwd: string): string {
  const shown = relative(cwd, path);
  return `${shown.startsWith('..') ? path : shown} sets ${name}, but gmn does not read a project's .env`;
}

async function findProjectKey(cwd: string, homes: Homes): Promise<ProjectKey | undefined> {
  const own = [join(homes.gemini, '.env'), join(homes.gmn, '.env')];
  for (let directory = cwd; ; directory = dirname(directory)) {
    for (const path of [join(directory, '.gemini', '.env'), join(directory, '.env')]) {
      if (own.includes(path)) continue;
      const file = await readFileState(path);
      if (file.kind !== 'text') continue;
      const name = /^\s*(?:export\s+)?(GEMINI_API_KEY|GOOGLE_API_KEY)\s*=\s*[^\s#]/m.exec(file.text)?.[1];
      if (name !== undefined) return { path, name };
    }
    if (directory === dirname(directory)) return undefined;
  }
}
