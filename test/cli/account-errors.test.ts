import { describe, expect, test } from 'vitest';
import { type Account, accountResponse, denied, signedIn } from '../support/account.ts';
import { fakeGemini, json, type Scripted } from '../support/gemini.ts';
import { parseLines } from '../support/gmn.ts';

/** A refusal of Code Assist, and how it is explained. */
interface Case {
  readonly script: readonly Scripted[];
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly code: number;
  readonly type: string;
  readonly message: string;
  readonly suggestion: string;
  /** Whether a model was asked. */
  readonly isAsked: boolean;
}

const CLIENT =
  'authentication failed: Google answered UNSUPPORTED_CLIENT: personal accounts can no longer use this sign-in (since 2026-06-18)';
const CLIENT_WAY =
  'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or a Workspace or Code Assist account with GOOGLE_CLOUD_PROJECT=<id>';
const AUTH = { code: 2, type: 'AuthError' };
const API = { code: 3, type: 'ApiError' };

const CASES: Readonly<Record<string, Case>> = {
  'UNSUPPORTED_CLIENT when the account is looked up': {
    script: [json({ ineligibleTiers: [{ reasonCode: 'UNSUPPORTED_CLIENT', reasonMessage: 'Use another client.' }] })],
    ...AUTH,
    message: `${CLIENT}: Use another client.`,
    suggestion: CLIENT_WAY,
    isAsked: false,
  },
  'UNSUPPORTED_CLIENT instead of an answer': {
    script: [accountResponse('p'), denied(403, 'UNSUPPORTED_CLIENT')],
    ...AUTH,
    message: `${CLIENT} (403 PERMISSION_DENIED): No.`,
    suggestion: CLIENT_WAY,
    isAsked: true,
  },
  TOS_VIOLATION: {
    script: [denied(403, 'TOS_VIOLATION')],
    ...AUTH,
    message:
      'authentication failed: Google answered TOS_VIOLATION: it has suspended this account for breaking its terms of service (403 PERMISSION_DENIED): No.',
    suggestion:
      'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey) of another account, or appeal to Google',
    isAsked: false,
  },
  'VALIDATION_REQUIRED with a link of Google': {
    script: [
      json({
        allowedTiers: [{ id: 'free-tier', isDefault: true }],
        ineligibleTiers: [
          {
            reasonCode: 'VALIDATION_REQUIRED',
            reasonMessage: 'Verify it.',
            validationUrl: 'https://accounts.google.com/verify?x=1',
          },
        ],
      }),
    ],
    ...AUTH,
    message: 'authentication failed: Google requires this account to be verified first: Verify it.',
    suggestion: 'Open the link, verify the account, then try again: https://accounts.google.com/verify?x=1',
    isAsked: false,
  },
  'VALIDATION_REQUIRED with a link elsewhere': {
    script: [
      accountResponse('p'),
      denied(403, 'VALIDATION_REQUIRED', { links: [{ url: 'https://google.com.evil.example/' }] }),
    ],
    ...AUTH,
    message: 'authentication failed: Google requires this account to be verified first (403 PERMISSION_DENIED): No.',
    suggestion: 'Verify the account with Google, then try again.',
    isAsked: true,
  },
  SECURITY_POLICY_VIOLATED: {
    script: [accountResponse('p'), denied(403, 'SECURITY_POLICY_VIOLATED')],
    ...API,
    message: 'API error: your organisation’s policy forbids this request (403 PERMISSION_DENIED): No.',
    suggestion: 'Ask your administrator (VPC Service Controls).',
    isAsked: true,
  },
  'an account that is not eligible': {
    script: [
      json({
        ineligibleTiers: [
          { reasonCode: 'UNSUPPORTED_LOCATION', reasonMessage: 'Not in your country.' },
          { reasonCode: 'RESTRICTED_AGE', reasonMessage: 'Too young.' },
        ],
      }),
    ],
    ...AUTH,
    message: 'authentication failed: Code Assist does not serve this account: Not in your country. Too young.',
    suggestion:
      'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or set GOOGLE_CLOUD_PROJECT=<id> of a project with a Code Assist licence',
    isAsked: false,
  },
  'an account without a project': {
    script: [json({ currentTier: { id: 'standard-tier' } })],
    ...API,
    message: 'API error: Code Assist needs a project of yours for this account',
    suggestion:
      'Set GOOGLE_CLOUD_PROJECT to the id of a project with Gemini for Google Cloud, or use an API key: gmn auth set-key',
    isAsked: false,
  },
  'a project number': {
    script: [],
    env: { GOOGLE_CLOUD_PROJECT: '1234567890' },
    code: 4,
    type: 'ConfigError',
    message: 'GOOGLE_CLOUD_PROJECT is a project number (1234567890); Code Assist takes only a project id',
    suggestion: 'Set GOOGLE_CLOUD_PROJECT to the id, e.g. my-project-123. To see yours: gcloud projects list',
    isAsked: false,
  },
  'a quota that is used up': {
    script: [accountResponse('p'), denied(429, 'QUOTA_EXHAUSTED', { metadata: { quotaResetDelay: '6h12m' } })],
    ...API,
    message: 'API error: quota used up for gemini-2.5-flash (429 RESOURCE_EXHAUSTED): No.',
    suggestion: 'It resets in 6 h 12 min. Until then choose another model with -m.',
    isAsked: true,
  },
  'a preview model without access': {
    script: [accountResponse('p'), denied(404, 'MODEL_NOT_FOUND')],
    args: ['-m', 'gemini-3.1-pro-preview'],
    ...API,
    message: 'API error: model gemini-3.1-pro-preview not found (404 NOT_FOUND): No.',
    suggestion:
      'It is a preview model, to which this account may have no access on Code Assist. To see the models of this account: gmn models --refresh; or use an API key: gmn auth set-key',
    isAsked: true,
  },
  'an account whose onboarding asks for another address': {
    script: [json({ allowedTiers: [{ id: 'free-tier', isDefault: true }] }), json({ name: '../../v1/steal?x' })],
    ...API,
    message: 'API error: Google did not finish setting up this account for Code Assist',
    suggestion: 'Try again in a few minutes, or use an API key: gmn auth set-key',
    isAsked: false,
  },
};

describe.each(Object.entries(CASES))('%s', (_, { script, env = {}, args = [], isAsked, ...error }) => {
  async function me(t: Parameters<typeof signedIn>[0]): Promise<Account> {
    return signedIn(t, await fakeGemini(t, script), { env });
  }
  const { code, type, message, suggestion } = error;

  test('in text', async (t) => {
    const { stdout, stderr, exitCode } = await (await me(t)).run([...args, 'hi']);
    expect({ stdout, stderr, exitCode }).toEqual({
      stdout: '',
      stderr: `Error: ${message}\n${suggestion}\n`,
      exitCode: code,
    });
    if (/UNSUPPORTED_CLIENT|TOS_VIOLATION/.test(message)) expect(stderr).not.toMatch(/re-?authenticate|sign in again/i);
  });

  test('in json', async (t) => {
    const { stdout, stderr, exitCode } = await (await me(t)).run([...args, '-o', 'json', 'hi']);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: code });
    expect(JSON.parse(stdout)).toEqual({ error: { code, type, message, suggestion } });
  });

  test('in stream-json', async (t) => {
    const { stdout, stderr, exitCode } = await (await me(t)).run([...args, '-o', 'stream-json', 'hi']);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: code });
    const lines = parseLines(stdout);
    expect(lines.map((line) => line.type)).toEqual(isAsked ? ['start', 'error'] : ['error']);
    expect(lines.at(-1)).toEqual({ type: 'error', error: { code, type, message, suggestion } });
  });
});

test('a look-up that fails for a moment is tried again', async (t) => {
  const { codeAssistResponse } = await import('../support/account.ts');
  const google = await fakeGemini(t, [
    denied(503, 'BACKEND_BUSY'),
    accountResponse('p'),
    codeAssistResponse('at last'),
  ]);
  const { stdout, exitCode } = await signedIn(t, google).run(['hi']);
  expect([exitCode, stdout]).toEqual([0, 'at last\n']);
});
