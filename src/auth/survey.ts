import { join } from 'node:path';
import type { KeyKind } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import { tryParseJson } from '../core/json.ts';
import { formatDuration } from '../core/text/format.ts';
import { readFileState } from '../platform/files/read.ts';
import { detectMachine } from '../platform/host.ts';
import type { ChoiceInput, CredentialChoice } from './choice.ts';
import { chooseCredential, findRequestedType } from './credential.ts';
import { keyStore } from './key-store.ts';
import { geminiFile, nameKeyPlace, readActiveAccount } from './official-files.ts';
import { tryParseOauthFile } from './token.ts';

/** A possible source of credentials. `used`: a run would use it; `unusable`: it would, but cannot. */
export interface SourceRow {
  readonly name: string;
  readonly state: 'used' | 'unusable' | 'found' | 'absent';
  readonly details: readonly string[];
  readonly lines: readonly string[];
}

export interface Survey {
  readonly choice?: CredentialChoice;
  readonly error?: AppError;
  readonly email?: string;
  readonly rows: readonly SourceRow[];
}

/** `open` does what a run does before its first request. Writes and sends nothing; AppErrors are results. */
export async function surveyCredentials(
  input: ChoiceInput,
  open: (choice: CredentialChoice) => Promise<unknown> = async () => {},
): Promise<Survey> {
  const email = await readActiveAccount(input);
  const others = [environmentRow(input), await storedRow(input), await signInRow(input, email), vertexRow(input)];
  try {
    const choice = await chooseCredential({ ...input, isRehearsal: true });
    const error = await findFailure(open(choice));
    const used = usedRow(input, choice, email);
    const first: SourceRow =
      error === undefined
        ? used
        : {
            ...used,
            state: 'unusable',
            lines: [error.message, ...(error.hint === undefined ? [] : [`→ ${error.hint}`])],
          };
    const isSignIn = choice.credential.type === 'oauth-personal' && email !== undefined;
    const rest = others.filter((row) => row.name !== ROW_NAMES[choice.credential.type] && !isSameSource(row, choice));
    return {
      choice,
      error,
      email: isSignIn ? email : undefined,
      rows: [first, ...rest],
    };
  } catch (thrown) {
    const error = toExpectedError(thrown);
    return { error, rows: [failedRow(input, error), ...others] };
  }
}

async function findFailure(work: Promise<unknown>): Promise<AppError | undefined> {
  try {
    await work;
    return undefined;
  } catch (thrown) {
    return toExpectedError(thrown);
  }
}

function toExpectedError(thrown: unknown): AppError {
  if (thrown instanceof AppError && (thrown.fault === 'auth' || thrown.fault === 'config')) return thrown;
  throw thrown;
}

const ROW_NAMES = {
  'gemini-api-key': '',
  'oauth-personal': 'oauth-personal',
  'vertex-ai': 'Vertex AI',
  'compute-default-credentials': '',
} as const;

function isSameSource(row: SourceRow, { credential }: CredentialChoice): boolean {
  return row.name === credential.source || (row.name === 'stored key' && row.details.includes(credential.source));
}

const KEY_KINDS: Readonly<Record<KeyKind, string>> = {
  standard: 'a standard key, a kind that Google is retiring',
  auth: 'an auth key',
};

function usedRow(input: ChoiceInput, { credential, token }: CredentialChoice, email: string | undefined): SourceRow {
  const who = credential.type === 'oauth-personal' && email !== undefined ? [email] : [];
  const kind = credential.keyKind && KEY_KINDS[credential.keyKind];
  const details = [credential.source, ...who, ...(kind === undefined ? [] : [kind])];
  if (token === undefined) return { name: credential.type, state: 'used', details, lines: [] };
  const leftMs = token.expiresAt === undefined ? undefined : token.expiresAt - input.clock.now();
  const isEnded = leftMs !== undefined && leftMs <= 0;
  const until = leftMs === undefined ? [] : [isEnded ? 'token expired' : `token valid ${formatDuration(leftMs)}`];
  if (isEnded && !token.canRefresh) {
    return {
      name: credential.type,
      state: 'unusable',
      details: [...details, ...until],
      lines: ['→ sign in again: gemini'],
    };
  }
  const refresh = isEnded ? [REFRESHED_LATER] : [];
  return { name: credential.type, state: 'used', details: [...details, ...until, ...refresh], lines: [] };
}

export const REFRESHED_LATER = 'refreshed at the next use';

/** The hint of a run names a flag to add, which the reporting commands do not have. */
function findRemedy({ fault, details, hint }: AppError): string | undefined {
  const isGuided = fault === 'auth' && details.guide !== undefined;
  return !isGuided ? hint : 'Set GEMINI_API_KEY, sign in with: gemini, or try: gmn --demo "hello"';
}

function failedRow(input: ChoiceInput, error: AppError): SourceRow {
  const hint = findRemedy(error);
  const lines = hint === undefined ? [] : [`→ ${hint}`];
  return { name: formatRequestedType(input), state: 'unusable', details: [error.message], lines };
}

function formatRequestedType({ flag, settings }: ChoiceInput): string {
  try {
    return findRequestedType(flag, settings)?.type ?? 'none';
  } catch {
    return flag ?? settings.env.GMN_AUTH ?? settings.authType ?? 'none';
  }
}

function environmentRow({ settings }: ChoiceInput): SourceRow {
  const isSet = Boolean(settings.env.GEMINI_API_KEY?.trim());
  return createRow('GEMINI_API_KEY', isSet, [isSet ? 'set' : 'not set']);
}

async function storedRow(input: ChoiceInput): Promise<SourceRow> {
  const place = await keyStore(input.homes().gmn, input.machine ?? detectMachine(), input.clock).place();
  if (place === undefined) return createRow('stored key', false, ['none (gmn auth set-key)']);
  return createRow('stored key', true, [nameKeyPlace(input, place)]);
}

async function signInRow(input: ChoiceInput, email: string | undefined): Promise<SourceRow> {
  const { path, name } = geminiFile(input, 'oauth_creds.json');
  const file = await readFileState(path);
  if (file.kind === 'absent') return createRow('oauth-personal', false, ['not signed in']);
  if (file.kind === 'unreadable') return createRow('oauth-personal', true, [name, file.why]);
  const token = tryParseOauthFile(tryParseJson(file.text), input.clock.now());
  const who = email === undefined ? [] : [email];
  return createRow('oauth-personal', true, [name, ...who, ...(token === undefined ? ['empty or damaged'] : [])]);
}

function vertexRow({ settings: { env } }: ChoiceInput): SourceRow {
  const project = env.GOOGLE_CLOUD_PROJECT || env.GOOGLE_CLOUD_PROJECT_ID;
  if (env.GOOGLE_API_KEY?.trim()) return createRow('Vertex AI', true, ['GOOGLE_API_KEY set']);
  return createRow('Vertex AI', Boolean(project), [project ? `project ${project}` : 'GOOGLE_CLOUD_PROJECT not set']);
}

function createRow(name: string, isFound: boolean, details: readonly string[]): SourceRow {
  return { name, state: isFound ? 'found' : 'absent', details, lines: [] };
}

interface ExposedFile {
  readonly text: string;
  readonly command: string;
}

export async function findExposedFiles(input: ChoiceInput): Promise<readonly ExposedFile[]> {
  const { gemini, gmn } = input.homes();
  const exposed: ExposedFile[] = [];
  for (const path of [
    join(gemini, 'oauth_creds.json'),
    join(gemini, 'gemini-credentials.json'),
    join(gmn, 'key.json'),
  ]) {
    const file = await readFileState(path);
    if (file.kind === 'text' && (file.mode & 0o077) !== 0) {
      exposed.push({ text: `Other users of this machine may read ${path}.`, command: `chmod 600 ${path}` });
    }
  }
  return exposed;
}
