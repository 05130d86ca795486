import { dirname, join, relative } from 'node:path';
import type { Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { readFileState } from '../platform/files/write.ts';

const HINT = 'Set GEMINI_API_KEY, sign in with: gemini, or add --demo';
const GUIDE = [
  'Do one of these:',
  '  export GEMINI_API_KEY=<key>   get one at https://aistudio.google.com/apikey',
  "  gemini                        official CLI's sign-in (Workspace, Code Assist)",
  '  gmn --demo "hello"            try gmn offline, no account needed',
].join('\n');

/** The error for someone who has nothing set up; it names a project's `.env` with a key in it, which gmn does not read. */
export async function noCredentials(cwd: string, homes: Homes): Promise<AppError> {
  const message = 'authentication failed: no Gemini credentials found';
  const found = await keyInProject(cwd, homes);
  return new AppError('auth', found === undefined ? message : `${message} (${unread(found, cwd)})`, {
    hint: HINT,
    guide: GUIDE,
  });
}

/** The error for a type that was asked for, when there is no key to go with it. */
export async function noKey(cwd: string, homes: Homes): Promise<AppError> {
  const message = 'authentication failed: no API key found';
  const found = await keyInProject(cwd, homes);
  return new AppError('auth', found === undefined ? message : `${message} (${unread(found, cwd)})`, {
    hint: 'Set GEMINI_API_KEY, or store a key: gmn auth set-key',
  });
}

interface ProjectKey {
  readonly path: string;
  readonly name: string;
}

function unread({ path, name }: ProjectKey, cwd: string): string {
  const shown = relative(cwd, path);
  return `${shown.startsWith('..') ? path : shown} sets ${name}, but gmn does not read a project's .env`;
}

/** The first `.env` from the working directory upwards that holds a key. */
async function keyInProject(cwd: string, homes: Homes): Promise<ProjectKey | undefined> {
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
