import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import { formatDuration } from '../core/text/format.ts';
import { readFileState } from '../platform/files/write.ts';
import { thisMachine } from '../platform/host.ts';
import type { Choice, ChoiceInput } from './choice.ts';
import { chooseCredential, wantedType } from './credential.ts';
import { keyStore } from './key-store.ts';
import { activeAccount, geminiFile, gmnFile } from './official-files.ts';
import { parseJson, parseOauthFile } from './token.ts';

/** A possible source of credentials. `used`: a run would use it; `unusable`: it would, but cannot. */
export interface SourceRow {
  readonly name: string;
  readonly state: 'used' | 'unusable' | 'found' | 'absent';
  /** Short facts on one line: where, who, until when. */
  readonly details: readonly string[];
  /** Sentences below: what is wrong and what to do. */
  readonly lines: readonly string[];
}

export interface Survey {
  readonly choice?: Choice;
  readonly error?: AppError;
  /** The account signed in to the official CLI, if that sign-in is used. */
  readonly email?: string;
  /** The one in use comes first. */
  readonly rows: readonly SourceRow[];
}

/**
 * Which credential a run would use, and what else there is. `open` does what a run does before its first request.
 * Writes nothing, sends nothing; AppErrors `auth` and `config` become part of the result.
 */
export async function surveyCredentials(
  input: ChoiceInput,
  open: (choice: Choice) => Promise<unknown> = async () => {},
): Promise<Survey> {
  const email = await activeAccount(input);
  const others = [environmentRow(input), await storedRow(input), await signInRow(input, email), vertexRow(input)];
  try {
    const choice = await chooseCredential({ ...input, isRehearsal: true });
    const error = await failureOf(open(choice));
    const used = usedRow(input, choice, email);
    const first: SourceRow = error === undefined ? used : { ...used, state: 'unusable', lines: linesOf(error) };
    const isSignIn = choice.credential.type === 'oauth-personal' && email !== undefined;
    const rest = others.filter((row) => row.name !== NAMES[choice.credential.type] && !sameSource(row, choice));
    return {
      choice,
      ...(error === undefined ? {} : { error }),
      ...(isSignIn ? { email } : {}),
      rows: [first, ...rest],
    };
  } catch (thrown) {
    const error = expected(thrown);
    return { error, rows: [failedRow(input, error), ...others] };
  }
}

async function failureOf(work: Promise<unknown>): Promise<AppError | undefined> {
  try {
    await work;
    return undefined;
  } catch (thrown) {
    return expected(thrown);
  }
}

function expected(thrown: unknown): AppError {
  if (thrown instanceof AppError && (thrown.fault === 'auth' || thrown.fault === 'config')) return thrown;
  throw thrown;
}

function linesOf({ message, hint }: AppError): readonly string[] {
  return [message, ...(hint === undefined ? [] : [`→ ${hint}`])];
}

/** Row names to drop when a credential of that type is in use. */
const NAMES = {
  'gemini-api-key': '',
  'oauth-personal': 'oauth-personal',
  'vertex-ai': 'Vertex AI',
  'compute-default-credentials': '',
} as const;

function sameSource(row: SourceRow, { credential }: Choice): boolean {
  return row.name === credential.source || (row.name === 'stored key' && row.details.includes(credential.source));
}

function usedRow(input: ChoiceInput, { credential, token }: Choice, email: string | undefined): SourceRow {
  const who = credential.type === 'oauth-personal' && email !== undefined ? [email] : [];
  const details = [credential.source, ...who];
  if (token === undefined) return { name: credential.type, state: 'used', details, lines: [] };
  const leftMs = token.expiresAt === undefined ? undefined : token.expiresAt - input.clock.now();
  const isEnded = leftMs !== undefined && leftMs <= 0;
  const until = leftMs === undefined ? [] : [isEnded ? 'token expired' : `token valid ${formatDuration(leftMs)}`];
  if (isEnded && !token.isRenewable) {
    return {
      name: credential.type,
      state: 'unusable',
      details: [...details, ...until],
      lines: ['→ sign in again: gemini'],
    };
  }
  const renewal = isEnded ? ['renewed at the next use'] : [];
  return { name: credential.type, state: 'used', details: [...details, ...until, ...renewal], lines: [] };
}

/** The hint of a run names a flag to add, which the reporting commands do not have. */
function remedyOf({ guide, hint }: AppError): string | undefined {
  return guide === undefined ? hint : 'Set GEMINI_API_KEY, sign in with: gemini, or try: gmn --demo "hello"';
}

function failedRow(input: ChoiceInput, error: AppError): SourceRow {
  const hint = remedyOf(error);
  const lines = hint === undefined ? [] : [`→ ${hint}`];
  return { name: nameOfWanted(input), state: 'unusable', details: [error.message], lines };
}

function nameOfWanted({ flag, settings }: ChoiceInput): string {
  try {
    return wantedType(flag, settings)?.type ?? 'none';
  } catch {
    return flag ?? settings.env.GMN_AUTH ?? settings.authType ?? 'none';
  }
}

function environmentRow({ settings }: ChoiceInput): SourceRow {
  const isSet = Boolean(settings.env.GEMINI_API_KEY?.trim());
  return row('GEMINI_API_KEY', isSet, [isSet ? 'set' : 'not set']);
}

async function storedRow(input: ChoiceInput): Promise<SourceRow> {
  const place = await keyStore(input.homes().gmn, input.machine ?? thisMachine(), input.clock).place();
  if (place === undefined) return row('stored key', false, ['none (gmn auth set-key)']);
  return row('stored key', true, [place === 'file' ? gmnFile(input, 'key.json').name : "the system's keyring"]);
}

async function signInRow(input: ChoiceInput, email: string | undefined): Promise<SourceRow> {
  const { path, name } = geminiFile(input, 'oauth_creds.json');
  const file = await readFileState(path);
  if (file.kind === 'absent') return row('oauth-personal', false, ['not signed in']);
  if (file.kind === 'unreadable') return row('oauth-personal', true, [name, file.why]);
  const token = parseOauthFile(parseJson(file.text), input.clock.now());
  const who = email === undefined ? [] : [email];
  return row('oauth-personal', true, [name, ...who, ...(token === undefined ? ['empty or damaged'] : [])]);
}

function vertexRow({ settings: { env } }: ChoiceInput): SourceRow {
  const project = env.GOOGLE_CLOUD_PROJECT || env.GOOGLE_CLOUD_PROJECT_ID;
  if (env.GOOGLE_API_KEY?.trim()) return row('Vertex AI', true, ['GOOGLE_API_KEY set']);
  return row('Vertex AI', Boolean(project), [project ? `project ${project}` : 'GOOGLE_CLOUD_PROJECT not set']);
}

function row(name: string, isFound: boolean, details: readonly string[]): SourceRow {
  return { name, state: isFound ? 'found' : 'absent', details, lines: [] };
}

export async function exposedFiles(input: ChoiceInput): Promise<readonly string[]> {
  const { gemini, gmn } = input.homes();
  const warnings: string[] = [];
  for (const path of [
    join(gemini, 'oauth_creds.json'),
    join(gemini, 'gemini-credentials.json'),
    join(gmn, 'key.json'),
  ]) {
    const file = await readFileState(path);
    if (file.kind === 'text' && (file.mode & 0o077) !== 0) {
      warnings.push(`Other users of this machine may read ${path}. Fix it: chmod 600 ${path}`);
    }
  }
  return warnings;
}
