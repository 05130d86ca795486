import { type Fault, row, type Variant } from '../fault.ts';
import { answer, detail, refusal, reply } from '../wire-answers.ts';
import type { Play } from '../wire-server.ts';

const reason = (name: string, metadata: object = {}): object => detail('ErrorInfo', { reason: name, metadata });
const delay = (retryDelay: string): object => detail('RetryInfo', { retryDelay });
const quota = (quotaId: string): object => detail('QuotaFailure', { violations: [{ quotaId }] });
const denied = (...details: readonly object[]): Play => refusal(403, 'PERMISSION_DENIED', 'No.', details);
const exhausted = (message: string, ...details: readonly object[]): Play =>
  refusal(429, 'RESOURCE_EXHAUSTED', message, details);
/** The first try and three more. */
const four = (play: Play): readonly Play[] => [play, play, play, play];
const HELLO = { code: 0, text: 'Hello.' } as const;

/** A refusal that is final at once. */
function final(name: string, play: Play, says: RegExp, more: Partial<Variant> = {}): Variant {
  return { name, model: [play], expect: { code: 3, says, text: '' }, ...more };
}

/** The rows N12 to N25: what the server says when it does not answer. */
export const REFUSALS: readonly Fault[] = [
  row(
    'N12',
    '403 VALIDATION_REQUIRED (Code Assist domain)',
    (
      [
        [
          'a link of Google',
          'https://accounts.google.com/v',
          /requires this account to be verified[\s\S]*accounts\.google\.com\/v/,
        ],
        [
          'a link elsewhere',
          'https://google.com.evil.example/v',
          /requires this account to be verified(?![\s\S]*evil)/,
        ],
        ['an escape sequence in the link', 'https://accounts.google.com/\u001b[2Jv', /verified(?![\s\S]*\u001b\[2J)/],
      ] as const
    ).map(([name, url, says]) => ({
      name,
      signIn: 'fresh',
      model: [denied(reason('VALIDATION_REQUIRED'), detail('Help', { links: [{ url }] }))],
      expect: { code: 2, says, text: '' },
    })),
  ),
  row('N13', '403 SECURITY_POLICY_VIOLATED (VPC-SC)', [
    final('a key', denied(reason('SECURITY_POLICY_VIOLATED')), /organisation’s policy[\s\S]*administrator/),
  ]),
  row('N14', '403 PERMISSION_DENIED, SERVICE_DISABLED, project missing, tier not eligible', [
    final('PERMISSION_DENIED', denied(reason('IAM_PERMISSION_DENIED', { consumer: 'projects/p1' })), /projects\/p1/, {
      signIn: 'fresh',
    }),
    final('SERVICE_DISABLED', denied(reason('SERVICE_DISABLED', { consumer: 'projects/p1' })), /not enabled.*p1/),
    final('project missing', denied(), /permission denied[\s\S]*GOOGLE_CLOUD_PROJECT/, { signIn: 'fresh' }),
    final('tier not eligible', denied(reason('UNSUPPORTED_CLIENT')), /UNSUPPORTED_CLIENT[\s\S]*gmn auth set-key/, {
      signIn: 'fresh',
      expect: { code: 2, says: /UNSUPPORTED_CLIENT[\s\S]*gmn auth set-key/, text: '' },
    }),
  ]),
  row('N15', '403 scope insufficient', [
    {
      name: 'a sign-in',
      signIn: 'fresh',
      model: [denied(reason('ACCESS_TOKEN_SCOPE_INSUFFICIENT'))],
      expect: { code: 2, says: /authentication failed[\s\S]*gemini/, text: '' },
    },
  ]),
  row('N16', '404 model', [
    final('one that was chosen', refusal(404, 'NOT_FOUND'), /model gemini-x not found[\s\S]*gmn models/, {
      args: ['-m', 'gemini-x', 'hello'],
    }),
  ]),
  row('N17', '400 invalid argument', [
    final('a message', refusal(400, 'INVALID_ARGUMENT', 'Bad role.'), /invalid request .*Bad role\./),
    final('an escape sequence in it', refusal(400, 'INVALID_ARGUMENT', '\u001b]0;x\u0007Bad.'), /Bad\./, {
      check: ({ started, problem }) => {
        for (const run of started) if (run.output().includes('\u001b]0;')) problem('other', 'a title was set');
      },
    }),
  ]),
  row('N18', '429 + RetryInfo 2 s', [
    { name: 'a moment', model: [exhausted('Slow.', delay('0.05s')), reply('Hello.')], expect: HELLO },
    { name: '2 s', model: [exhausted('Slow.', delay('2s')), reply('Hello.')], expect: HELLO },
  ]),
  row('N19', '429 + RetryInfo 600 s', [
    final('at once', exhausted('Slow.', delay('600s')), /quota exceeded[\s\S]*wait 10 m/),
    final('longer than --timeout leaves', exhausted('Slow.', delay('40s')), /wait 40 s, longer than --timeout/, {
      args: ['-t', '30s', 'hello'],
    }),
  ]),
  row('N20', '429 without details', [
    { name: 'always', model: four(answer(429, '')), expect: { code: 3, says: /quota exceeded.*429/, text: '' } },
    { name: 'once', model: [answer(429, ''), reply('Hello.')], expect: HELLO },
  ]),
  row('N21', '429 terminal: PerDay, QUOTA_EXHAUSTED, limit: 0, credits', [
    final('PerDay', exhausted('Slow.', quota('GenerateRequestsPerDayPerProject')), /daily quota exceeded/),
    final('QUOTA_EXHAUSTED', exhausted('Slow.', reason('QUOTA_EXHAUSTED')), /quota used up/),
    final('limit: 0', exhausted('Quota exceeded, limit: 0'), /no quota for/),
    final('credits', exhausted('Slow.', reason('INSUFFICIENT_G1_CREDITS_BALANCE')), /not enough credits/),
  ]),
  row('N22', '429 "Please retry in 1.5s" only in text; Retry-After: 1 only in header', [
    { name: 'text', model: [exhausted('Please retry in 50ms.'), reply('Hello.')], expect: HELLO },
    { name: 'header', model: [answer(429, '{}', { 'retry-after': '1' }), reply('Hello.')], expect: HELLO },
    final('text, too long', exhausted('Please retry in 10m0s.'), /wait 10 m/),
    final('header, too long', answer(429, '{}', { 'retry-after': '600' }), /wait 10 m/),
  ]),
  row(
    'N23',
    'MODEL_CAPACITY_EXHAUSTED',
    [429, 503].map((status) => ({
      name: String(status),
      model: four(refusal(status, 'UNAVAILABLE', 'Full.', [reason('MODEL_CAPACITY_EXHAUSTED')])),
      expect: { code: 3, says: /no capacity for gemini-2\.5-flash/, text: '' },
      check: ({ server, problem }) => {
        for (const { path } of server.asked('model')) if (!path.includes('gemini-2.5-flash')) problem('other', path);
      },
    })),
  ),
  row(
    'N24',
    '499, 500, 502, 503, 504 each: once, always',
    [503, 499, 500, 502, 504].flatMap((status) => [
      {
        name: `${status} always`,
        model: four(refusal(status, 'UNAVAILABLE')),
        expect: { code: 3, says: new RegExp(`the server failed \\(${status}`), text: '' },
      },
      { name: `${status} once`, model: [refusal(status, 'UNAVAILABLE'), reply('Hello.')], expect: HELLO },
    ]),
  ),
  row('N25', '502 with an HTML page of 1 MB', [
    {
      name: 'always',
      model: four(
        answer(502, `<html><style>b{}</style><b>Bad gateway</b>${'<p>so sorry</p>'.repeat(70_000)}</html>`, {
          'content-type': 'text/html',
        }),
      ),
      expect: { code: 3, says: /\(502\): Bad gateway so sorry(?![\s\S]*<)/, text: '' },
      check: ({ started, problem }) => {
        for (const run of started)
          if (run.output().length > 4000) problem('noise', `${run.output().length} characters`);
      },
    },
  ]),
];
