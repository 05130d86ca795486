import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { toSlashes } from '../../src/core/text/path.ts';
import { events, type FakeGemini, json, type Scripted } from './gemini.ts';
import { callGmnIn, type GmnOptions, type GmnResult, place } from './gmn.ts';
import { listTree } from './temporary.ts';

/** Secrets that may appear in no output, and in no file but the official CLI's own and gmn's token cache. */
export const CANARY = {
  access: 'ya29.canary-access-token',
  refresh: '1//canary-refresh-token',
  granted: 'ya29.canary-granted-token',
  clientId: 'canary-client-id.apps.example',
  clientSecret: 'GOCSPX-canary-client-secret',
} as const;

/** Its token is valid for an hour. */
export function signInFile(changes: Readonly<Record<string, unknown>> = {}): string {
  const document = {
    access_token: CANARY.access,
    refresh_token: CANARY.refresh,
    token_type: 'Bearer',
    expiry_date: Date.now() + 3_600_000,
    unknown_key: ['kept'],
    ...changes,
  };
  return JSON.stringify(document, null, 2);
}

export interface Account {
  readonly home: string;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<GmnResult>;
  /** By path, without gmn's code cache. */
  files(): Readonly<Record<string, string>>;
  mode(path: string): number;
}

/** The home stays between runs; `gemini` plays all of Google's services. */
export function account(t: TestContext, gemini: Pick<FakeGemini, 'url'>, options: GmnOptions = {}): Account {
  const { cwd, env, home } = place(t, options);
  const services = {
    CODE_ASSIST_ENDPOINT: gemini.url,
    GOOGLE_GEMINI_BASE_URL: gemini.url,
    GOOGLE_VERTEX_BASE_URL: gemini.url,
    GMN_OAUTH_TOKEN_URL: `${gemini.url}/token`,
    GMN_OAUTH_CLIENT_ID: CANARY.clientId,
    GMN_OAUTH_CLIENT_SECRET: CANARY.clientSecret,
  };
  return {
    home,
    run: (args, more = {}) => callGmnIn(t, { cwd, env: { ...env, ...services, ...options.env, ...more } }, args),
    files: () => filesIn(home),
    mode: (path) => statSync(join(home, path)).mode & 0o777,
  };
}

/** The note about Google's terms was already shown in this home. */
export function signedIn(t: TestContext, gemini: Pick<FakeGemini, 'url'>, options: GmnOptions = {}): Account {
  const home = { '.gemini/oauth_creds.json': signInFile(), '.gmn/sign-in-note-shown': '', ...options.home };
  return account(t, gemini, { ...options, home });
}

function filesIn(directory: string): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of listTree(directory)) {
    const path = toSlashes(join(entry.parentPath, entry.name).slice(directory.length + 1));
    if (entry.isFile() && !path.startsWith('.gmn/cache/')) files[path] = readFileSync(join(directory, path), 'utf8');
  }
  return files;
}

export function accountResponse(project: string): Scripted {
  return json({ currentTier: { id: 'standard-tier' }, cloudaicompanionProject: project });
}

export function codeAssistResponse(text: string): Scripted {
  const candidate = { content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' };
  return events([{ response: { candidates: [candidate] }, traceId: 'trace-1' }]);
}

/** An error of Google's format with one reason. */
export function denied(status: number, reason: string, more: Readonly<Record<string, unknown>> = {}): Scripted {
  const { message = 'No.', metadata = {}, links } = more;
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, metadata };
  const help = links === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.Help', links }];
  const name = status === 429 ? 'RESOURCE_EXHAUSTED' : status === 404 ? 'NOT_FOUND' : 'PERMISSION_DENIED';
  return json({ error: { code: status, message, status: name, details: [info, ...help] } }, status);
}
