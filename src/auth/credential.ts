import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';

/** What proves who is asking, and to which backend it may go. */
export interface Credential {
  readonly type: 'gemini-api-key';
  readonly key: string;
}

/** The credential this run uses. Throws AppError `auth` with the ways forward if there is none. */
export function chooseCredential(env: Env): Credential {
  const key = env.GEMINI_API_KEY?.trim();
  if (key) return { type: 'gemini-api-key', key };
  throw new AppError('auth', 'authentication failed: no Gemini credentials found', {
    hint: 'Set GEMINI_API_KEY, sign in with: gemini, or add --demo',
    guide: [
      'Do one of these:',
      '  export GEMINI_API_KEY=<key>   get one at https://aistudio.google.com/apikey',
      '  gemini                        sign in with the official CLI (Workspace or Code Assist licence)',
      '  gmn --demo "hello"            try gmn offline, no account needed',
    ].join('\n'),
  });
}
