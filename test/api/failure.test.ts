import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classifyResponse } from '../../src/api/failure.ts';
import type { CredentialKind } from '../../src/api/failure-case.ts';
import { corpus, fuzz } from '../support/fuzz.ts';
import { codePoint } from '../support/properties.ts';

const NO_SECRETS: ReadonlySet<string> = new Set();

interface Situation {
  readonly headers?: Readonly<Record<string, string>>;
  readonly credential?: CredentialKind;
}

function failure(status: number, body: string | object = '', { headers = {}, credential = 'key' }: Situation = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify({ error: { code: status, ...body } });
  return classifyResponse({
    status,
    headers,
    body: text,
    model: 'gemini-x',
    credential,
    authHint: 'AUTH HINT',
    secrets: NO_SECRETS,
  });
}

function told(status: number, body?: string | object, situation?: Situation): string {
  const { fault, message, hint, retry } = failure(status, body, situation);
  return [`${fault}: ${message}`, hint, ...(retry ? [JSON.stringify(retry)] : [])].join('\n');
}

const reason = (name: string, metadata = {}) => [
  { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: name, metadata },
];
const delay = (retryDelay: string) => [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }];
const quota = (quotaId: string) => [{ violations: [{ quotaId }] }];
const EXHAUSTED = { status: 'RESOURCE_EXHAUSTED', message: 'Slow down.' };
const ADDRESS_HINT =
  'Check the address: GOOGLE_GEMINI_BASE_URL, CODE_ASSIST_ENDPOINT or GOOGLE_VERTEX_BASE_URL if set, and GOOGLE_CLOUD_LOCATION on Vertex AI.';
const MODEL_HINT = 'Wait a little, or choose another model with -m.';

test.for<readonly [string, string, string]>([
  [
    '400',
    told(400, { status: 'INVALID_ARGUMENT', message: 'Bad role.' }),
    'api: API error: invalid request (400 INVALID_ARGUMENT): Bad role.\nCheck the prompt, the attachments and the flags.',
  ],
  [
    '400 key invalid',
    told(400, { status: 'INVALID_ARGUMENT', message: 'API key not valid.', details: reason('API_KEY_INVALID') }),
    'auth: authentication failed: API key not valid. (400 INVALID_ARGUMENT)\nAUTH HINT',
  ],
  ['401', told(401), 'auth: authentication failed: the server refused the credential (401)\nAUTH HINT'],
  [
    '403 with a key',
    told(403, { status: 'PERMISSION_DENIED', message: 'No.' }),
    'auth: authentication failed: No. (403 PERMISSION_DENIED)\nAUTH HINT',
  ],
  [
    '403 with an account',
    told(
      403,
      {
        status: 'PERMISSION_DENIED',
        message: 'No.',
        details: reason('IAM_PERMISSION_DENIED', { consumer: 'projects/p1' }),
      },
      { credential: 'account' },
    ),
    'api: API error: permission denied for projects/p1 (403 PERMISSION_DENIED): No.\nCheck that the account may use this project (GOOGLE_CLOUD_PROJECT) and model.',
  ],
  [
    '403 with a key that may not call this API',
    told(403, { message: 'Requests are blocked.', details: reason('API_KEY_SERVICE_BLOCKED') }),
    'auth: authentication failed: Requests are blocked. (403)\nThe key is restricted: change what it may be used for at https://console.cloud.google.com/apis/credentials, or make another one.',
  ],
  [
    '403 with a key of a project that was shut out',
    told(403, { status: 'PERMISSION_DENIED', message: 'Your project has been denied access. Please contact support.' }),
    'auth: authentication failed: Your project has been denied access. Please contact support. (403 PERMISSION_DENIED)\nGoogle refuses the project of this key: use a key of another project, or ask Google about this one.',
  ],
  [
    '403 with an account of such a project',
    told(403, { message: 'No.', details: reason('CONSUMER_SUSPENDED') }, { credential: 'account' }),
    'api: API error: permission denied (403): No.\nCheck that the account may use this project (GOOGLE_CLOUD_PROJECT) and model.',
  ],
  [
    '403 for one model',
    told(403, { message: 'No access to models/gemini-x.' }),
    'api: API error: model gemini-x refused (403): No access to models/gemini-x.\nThis key may not use it: choose another with -m. See which there are: gmn models --refresh',
  ],
  [
    '403 for lack of a role, which names the model as well',
    told(403, { message: "Permission 'a.b' denied on models/gemini-x." }, { credential: 'account' }),
    "api: API error: permission denied (403): Permission 'a.b' denied on models/gemini-x.\nCheck that the account may use this project (GOOGLE_CLOUD_PROJECT) and model.",
  ],
  [
    '403 without billing',
    told(403, { message: 'Off.', details: reason('BILLING_DISABLED', { consumer: 'projects/1' }) }),
    'api: API error: billing is off for projects/1 (403): Off.\nSet up billing at https://aistudio.google.com/billing, or choose another model with -m.',
  ],
  [
    '400 from a country where it is not offered',
    told(400, { status: 'FAILED_PRECONDITION', message: 'User location is not supported for the API use.' }),
    'api: API error: the Gemini API is not offered where this request came from (400 FAILED_PRECONDITION): User location is not supported for the API use.\nSee where it is offered: https://ai.google.dev/gemini-api/docs/available-regions. Vertex AI is offered in other regions, too: GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_LOCATION=global',
  ],
  [
    '400 for a request of too many bytes',
    told(400, { message: 'Request payload size exceeds the limit: 20971520 bytes.' }),
    'api: API error: the request is too large (400): Request payload size exceeds the limit: 20971520 bytes.\nSend fewer or smaller files.',
  ],
  [
    '400 for a document of too many pages',
    told(400, { message: 'The document contains 1001 pages which exceeds the supported limit.' }),
    'api: API error: the request is too large (400): The document contains 1001 pages which exceeds the supported limit.\nSend fewer or smaller files.',
  ],
  [
    '429 daily quota of Code Assist',
    told(429, {
      ...EXHAUSTED,
      details: [...reason('RATE_LIMIT_EXCEEDED', { quota_limit: 'ChatRequestsPerDayPerUser' }), ...delay('3s')],
    }),
    'api: API error: daily quota exceeded for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\nIt resets at midnight Pacific time. Until then choose another model with -m.',
  ],
  [
    '429 quota of a week',
    told(429, { ...EXHAUSTED, details: reason('QUOTA_EXHAUSTED', { quotaResetDelay: '150h0m0s' }) }),
    'api: API error: quota used up for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\nIt resets in 150 h. Until then choose another model with -m.',
  ],
  [
    '429 quota of a week, by its date',
    told(
      429,
      { ...EXHAUSTED, details: reason('QUOTA_EXHAUSTED', { quotaResetTimeStamp: '2026-10-28T07:28:00Z' }) },
      { headers: { date: 'Wed, 21 Oct 2026 07:28:00 GMT' } },
    ),
    'api: API error: quota used up for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\nIt resets at 2026-10-28T07:28:00Z. Until then choose another model with -m.',
  ],
  [
    '429 no prepaid credits left',
    told(429, { message: 'Your prepayment credits are depleted.', details: delay('2s') }),
    'api: API error: the prepaid credits are used up (429): Your prepayment credits are depleted.\nAdd credits: https://aistudio.google.com/billing',
  ],
  [
    '429 no free tier',
    told(429, { message: "Gemini X doesn't have a free quota tier. Upgrade." }),
    "api: API error: no quota for gemini-x (429): Gemini X doesn't have a free quota tier. Upgrade.\nYour plan does not include it: choose another model with -m, or enable billing: https://aistudio.google.com/billing",
  ],
  [
    '429 quota of zero',
    told(429, { ...EXHAUSTED, details: reason('RATE_LIMIT_EXCEEDED', { quota_limit_value: '0' }) }),
    'api: API error: no quota for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\nYour plan does not include it: choose another model with -m, or enable billing: https://aistudio.google.com/billing',
  ],
  [
    '403 N12 validation by its other name',
    told(
      403,
      {
        message: 'Verify.',
        details: reason('VALIDATION_REQUIRED', { validation_url: 'https://accounts.google.com/u' }),
      },
      { credential: 'account' },
    ),
    'auth: authentication failed: Google requires this account to be verified first (403): Verify.\nOpen the link, verify the account, then try again: https://accounts.google.com/u',
  ],
  [
    '403 N12 validation',
    told(
      403,
      {
        message: 'Verify.',
        details: [...reason('VALIDATION_REQUIRED'), { links: [{ url: 'https://accounts.google.com/v' }] }],
      },
      { credential: 'account' },
    ),
    'auth: authentication failed: Google requires this account to be verified first (403): Verify.\nOpen the link, verify the account, then try again: https://accounts.google.com/v',
  ],
  [
    '403 N12 with a foreign link',
    told(
      403,
      {
        message: 'Verify.',
        details: [...reason('VALIDATION_REQUIRED'), { links: [{ url: 'https://google.com.evil.example/v' }] }],
      },
      { credential: 'account' },
    ),
    'auth: authentication failed: Google requires this account to be verified first (403): Verify.\nVerify the account with Google, then try again.',
  ],
  [
    '403 N13 policy',
    told(403, { message: 'No.', details: reason('SECURITY_POLICY_VIOLATED') }),
    'api: API error: your organisation’s policy forbids this request (403): No.\nAsk your administrator (VPC Service Controls).',
  ],
  [
    '403 N14 disabled',
    told(403, {
      message: 'Off.',
      details: reason('SERVICE_DISABLED', {
        consumer: 'projects/1',
        activationUrl: 'https://console.developers.google.com/x',
      }),
    }),
    'api: API error: the API is not enabled for projects/1 (403): Off.\nEnable it: https://console.developers.google.com/x',
  ],
  [
    '403 N15 scope',
    told(403, { message: 'Scope.', details: reason('ACCESS_TOKEN_SCOPE_INSUFFICIENT') }, { credential: 'account' }),
    'auth: authentication failed: Scope. (403)\nAUTH HINT',
  ],
  [
    '403 terms',
    told(403, { message: 'Gone.', details: reason('TOS_VIOLATION') }, { credential: 'account' }),
    'auth: authentication failed: Google answered TOS_VIOLATION: it has suspended this account for breaking its terms of service (403): Gone.\nUse an API key: gmn auth set-key (https://aistudio.google.com/apikey) of another account, or appeal to Google',
  ],
  [
    '403 client',
    told(403, { message: 'Gone.', details: reason('UNSUPPORTED_CLIENT') }, { credential: 'account' }),
    'auth: authentication failed: Google answered UNSUPPORTED_CLIENT: personal accounts can no longer use this sign-in (since 2026-06-18) (403): Gone.\nUse an API key: gmn auth set-key (https://aistudio.google.com/apikey), or a Workspace or Code Assist account with GOOGLE_CLOUD_PROJECT=<id>',
  ],
  [
    '404',
    told(404, { status: 'NOT_FOUND', message: 'No such model.' }),
    'api: API error: model gemini-x not found (404 NOT_FOUND): No such model.\nSee which models there are: gmn models --refresh',
  ],
  [
    '404 that names the model',
    told(404, { message: 'models/gemini-x is no longer here' }),
    'api: API error: model gemini-x not found (404): models/gemini-x is no longer here\nSee which models there are: gmn models --refresh',
  ],
  [
    '404 of a web server',
    told(404, '<html><title>Not Found</title><p>nginx</p></html>'),
    `api: API error: there is nothing at this address (404): Not Found nginx\n${ADDRESS_HINT}`,
  ],
  [
    '404 of a gateway',
    told(404, '{"message":"no Route matched"}'),
    `api: API error: there is nothing at this address (404): no Route matched\n${ADDRESS_HINT}`,
  ],
  ['413', told(413), 'api: API error: the request is too large (413)\nSend fewer or smaller files.'],
  ['431', told(431), 'api: API error: the request is too large (431)\nSend fewer or smaller files.'],
  ['429 bare', told(429), `api: API error: quota exceeded for gemini-x (429)\n${MODEL_HINT}\n{}`],
  [
    '429 RetryInfo',
    told(429, { ...EXHAUSTED, details: delay('34.07s') }),
    `api: API error: quota exceeded for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\n${MODEL_HINT}\n{"afterMs":34070}`,
  ],
  [
    '429 RetryInfo in ms',
    told(429, { ...EXHAUSTED, details: delay('900ms') }),
    `api: API error: quota exceeded for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\n${MODEL_HINT}\n{"afterMs":900}`,
  ],
  [
    '429 too long',
    told(429, { ...EXHAUSTED, details: delay('600s') }),
    'api: API error: quota exceeded for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\nThe server asks to wait 10 min; try again then.',
  ],
  [
    '429 words',
    told(429, { message: 'Please retry in 1.5s.' }),
    `api: API error: quota exceeded for gemini-x (429): Please retry in 1.5s.\n${MODEL_HINT}\n{"afterMs":1500}`,
  ],
  [
    '429 header',
    told(429, '', { headers: { 'retry-after': '3' } }),
    `api: API error: quota exceeded for gemini-x (429)\n${MODEL_HINT}\n{"afterMs":3000}`,
  ],
  [
    '429 header with a date',
    told(429, '', {
      headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' },
    }),
    `api: API error: quota exceeded for gemini-x (429)\n${MODEL_HINT}\n{"afterMs":5000}`,
  ],
  [
    '429 per minute',
    told(429, { ...EXHAUSTED, details: quota('RequestsPerMinute') }),
    `api: API error: quota exceeded for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\n${MODEL_HINT}\n{"afterMs":60000}`,
  ],
  [
    '429 per day beats RetryInfo',
    told(429, { ...EXHAUSTED, details: [...quota('GenerateRequestsPerDayPerProjectPerModel'), ...delay('2s')] }),
    'api: API error: daily quota exceeded for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\nIt resets at midnight Pacific time. Until then choose another model with -m.',
  ],
  [
    '429 exhausted',
    told(429, { ...EXHAUSTED, details: reason('QUOTA_EXHAUSTED', { quotaResetDelay: '13h2m5s' }) }),
    'api: API error: quota used up for gemini-x (429 RESOURCE_EXHAUSTED): Slow down.\nIt resets in 13 h 2 min. Until then choose another model with -m.',
  ],
  [
    '429 limit 0',
    told(429, { message: 'Quota exceeded, limit: 0, model: x' }),
    'api: API error: no quota for gemini-x (429): Quota exceeded, limit: 0, model: x\nYour plan does not include it: choose another model with -m, or enable billing: https://aistudio.google.com/billing',
  ],
  [
    '429 limit 0.5 is not 0',
    told(429, { message: 'limit: 0.5' }),
    `api: API error: quota exceeded for gemini-x (429): limit: 0.5\n${MODEL_HINT}\n{}`,
  ],
  [
    '429 credits',
    told(429, { message: 'Pay.', details: reason('INSUFFICIENT_G1_CREDITS_BALANCE') }),
    'api: API error: not enough credits for gemini-x (429): Pay.\nAdd credits (billing: https://aistudio.google.com/billing), or choose another model with -m.',
  ],
  [
    '503 capacity',
    told(503, { message: 'Full.', details: reason('MODEL_CAPACITY_EXHAUSTED') }),
    'api: API error: no capacity for gemini-x right now (503): Full.\nTry again later.\n{}',
  ],
  ['499', told(499), 'api: API error: the server failed (499)\nTry again later.\n{}'],
  [
    '500',
    told(500, { status: 'INTERNAL', message: 'Oops.' }),
    'api: API error: the server failed (500 INTERNAL): Oops.\nTry again later.\n{}',
  ],
  [
    '302',
    told(302, '', { headers: { location: '/login' } }),
    'api: API error: the server redirects (302), which gmn does not follow\nA credential goes only where you send it: set the base URL to the final address.',
  ],
])('%s', ([, got, wanted]) => {
  expect(got).toBe(wanted);
});

test('of a page of 1 MB the first 200 visible characters are quoted (N25)', () => {
  const page = `<!DOCTYPE html><html><head><title>502</title><style>b{}</style><script>if (a<b) x()</script></head><!-- c --><body>\n<h1>Bad  gateway</h1>${'<p>word</p>'.repeat(100_000)}`;
  const { message } = failure(502, page);
  expect(message).toMatch(/^API error: the server failed \(502\): 502 Bad gateway word word /);
  expect(message.length).toBeLessThan(240);
});

test('pages made to be slow to read are not', () => {
  expect(failure(502, '<'.repeat(64 * 1024)).message).toBe('API error: the server failed (502)');
  expect(failure(502, '<script '.repeat(8 * 1024)).message).toBe('API error: the server failed (502)');
});

test('words of the server are one harmless line', () => {
  const { message } = failure(400, {
    message: 'a\u001b[31m\r\nb\u202ec AIzaSyA0123456789abcdefghijklmnopqrstuv ya29.abc',
  });
  expect(message).toBe('API error: invalid request (400): a [31m b c ‹redacted› ‹redacted›');
});

test('no body at all makes the classifier throw, and none gets a control character through', () => {
  const body = fc.oneof(
    fc.string({ unit: codePoint }),
    fc.json(),
    fc.json().map((json) => `{"error":${json}}`),
    fc.json().map((json) => `{"error":{"details":[${json}],"message":${json}}}`),
  );
  fc.assert(
    fc.property(fc.integer({ min: 300, max: 599 }), body, (status, text) => {
      const { message, hint, fault, retry } = failure(status, text);
      expect(['api', 'auth']).toContain(fault);
      for (const words of [message, hint ?? '']) {
        expect(words).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
        expect(words.isWellFormed()).toBe(true);
        expect(words.length).toBeLessThan(1000);
      }
      expect(hint).toMatch(/./);
      // Only what may pass by itself is tried again, and never for longer than a person would wait.
      if (retry !== undefined) expect([408, 429, 499].includes(status) || status >= 500).toBe(true);
      expect(retry?.afterMs ?? 0).toBeLessThanOrEqual(60_000);
    }),
    { ...fuzz(300), examples: corpus<[number, string]>('refusals') },
  );
});
