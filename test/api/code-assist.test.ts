import { expect, test } from 'vitest';
import {
  codeAssist,
  createOnboardings,
  type Onboarding,
  type OnboardingCache,
  type Onboardings,
  parseProject,
} from '../../src/api/code-assist.ts';
import { ensureOnboarded } from '../../src/api/code-assist-onboarding.ts';
import { AppError } from '../../src/core/error.ts';
import { KEY, keyIdentity, REQUEST } from './conversation.ts';

const SIGNAL = new AbortController().signal;
const NOT_DONE = { name: 'operations/1', done: false };

/** `onboard` against these answers, one a request, the last for all after it. */
async function onboardWith(answers: readonly object[], project?: string) {
  const seen: { readonly url: string; readonly body: unknown }[] = [];
  const sleeps: number[] = [];
  const send = async ({ url, body }: { readonly url: URL; readonly body?: string | Uint8Array }) => {
    const answer = answers[Math.min(seen.length, answers.length - 1)];
    seen.push({ url: url.pathname, body: body === undefined ? undefined : JSON.parse(String(body)) });
    return { status: 200, headers: {}, body: bytes(JSON.stringify(answer)) };
  };
  const clock = {
    now: () => 0,
    sleep: async (ms: number) => {
      sleeps.push(ms);
    },
  };
  const caller = { identity: keyIdentity(KEY), userAgent: 'gmn/test', send };
  const result = await ensureOnboarded({ place: {}, caller, clock, pollMs: 5000, project }, SIGNAL).catch(
    (error) => error,
  );
  return { result, seen, sleeps };
}

test.for([
  [
    { code: 7, message: 'Quota of new accounts is spent.' },
    'api',
    'API error: Google could not set up this account for Code Assist: Quota of new accounts is spent.',
  ],
  [{ code: 9 }, 'api', 'API error: Google could not set up this account for Code Assist: no reason given'],
  [
    { code: 7, message: 'Not here.', details: [{ reason: 'UNSUPPORTED_CLIENT' }] },
    'auth',
    expect.stringMatching(/UNSUPPORTED_CLIENT.*: Not here\.$/),
  ],
] as const)('an onboarding that ends with the error %j says so', async ([error, fault, message]) => {
  const { result, seen } = await onboardWith([{}, NOT_DONE, { done: true, error }], 'mine');
  expect(result).toMatchObject({ fault, message });
  expect(seen).toHaveLength(3);
  expect((await onboardWith([{}, { done: true, error }], 'mine')).result).toMatchObject({ fault, message });
});

test('what the server says of an account does not repeat the token', async () => {
  const tiers = [{ reasonCode: 'X', reasonMessage: 'no not-a-real-key-0123456789 here' }];
  const { result } = await onboardWith([{ ineligibleTiers: tiers }]);
  expect(result.message).toBe('authentication failed: Code Assist does not serve this account: no ‹redacted› here');
});

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

test('an operation is looked at every five seconds until it is done', async () => {
  const done = { done: true, response: { cloudaicompanionProject: { id: 'given' } } };
  const { result, seen, sleeps } = await onboardWith([
    { allowedTiers: [{ id: 'free-tier', isDefault: true }] },
    NOT_DONE,
    NOT_DONE,
    done,
  ]);
  expect(result).toEqual({ project: 'given', tier: 'free-tier' });
  expect(sleeps).toEqual([5000, 5000]);
  expect(seen.map(({ url }) => url)).toEqual([
    '/v1internal:loadCodeAssist',
    '/v1internal:onboardUser',
    '/v1internal/operations/1',
    '/v1internal/operations/1',
  ]);
});

test('an operation that is never done is given up', async () => {
  const { result, sleeps } = await onboardWith([{}, NOT_DONE]);
  expect(result).toMatchObject({ fault: 'api', message: expect.stringContaining('did not finish setting up') });
  expect(sleeps).toHaveLength(60);
});

test.for<readonly [string, object, string | undefined, Onboarding]>([
  [
    'the server’s project wins',
    { currentTier: { id: 'a' }, cloudaicompanionProject: 'theirs' },
    'mine',
    { project: 'theirs', tier: 'a' },
  ],
  ['else it is the person’s', { currentTier: {} }, 'mine', { project: 'mine', tier: 'standard-tier' }],
  [
    'a paid tier is the tier',
    { currentTier: { id: 'a' }, paidTier: { id: 'paid' }, cloudaicompanionProject: 'p' },
    undefined,
    { project: 'p', tier: 'paid' },
  ],
  [
    'a tier in use counts over those that are closed',
    {
      currentTier: { id: 'a' },
      cloudaicompanionProject: 'p',
      ineligibleTiers: [{ reasonCode: 'VALIDATION_REQUIRED', validationUrl: 'https://accounts.google.com/' }],
    },
    undefined,
    { project: 'p', tier: 'a' },
  ],
])('%s', async ([, answer, project, onboarding]) => {
  expect((await onboardWith([answer], project)).result).toEqual(onboarding);
});

test.for([{}, { currentTier: 7, allowedTiers: 'x', ineligibleTiers: [null, 3] }, { allowedTiers: [{}] }])(
  'an answer like %j is onboarded as a legacy account, and needs a project',
  async (answer) => {
    const { result, seen } = await onboardWith([answer, { done: true }]);
    expect(seen[1]?.body).toMatchObject({ tierId: 'legacy-tier' });
    expect(result).toMatchObject({ fault: 'api', message: expect.stringContaining('needs a project') });
  },
);

test('the project comes from either variable, and is not a number', () => {
  expect(parseProject({ GOOGLE_CLOUD_PROJECT: 'a', GOOGLE_CLOUD_PROJECT_ID: 'b' })).toBe('a');
  expect(parseProject({ GOOGLE_CLOUD_PROJECT: '', GOOGLE_CLOUD_PROJECT_ID: 'b' })).toBe('b');
  expect(parseProject({})).toBeUndefined();
  for (const impossible of ['a b', '../x', 'a\nb', 'p\u202e', '-x']) {
    expect(() => parseProject({ GOOGLE_CLOUD_PROJECT: impossible })).toThrow(
      expect.objectContaining({ fault: 'config', message: 'GOOGLE_CLOUD_PROJECT cannot be the name of a project' }),
    );
  }
  expect(() => parseProject({ GOOGLE_CLOUD_PROJECT_ID: '123' })).toThrow(
    expect.objectContaining({ fault: 'config', message: expect.stringContaining('GOOGLE_CLOUD_PROJECT_ID') }),
  );
});

function memory(kept?: Onboarding): OnboardingCache & { readonly written: Onboarding[] } {
  const written: Onboarding[] = [];
  return {
    written,
    read: () => written.at(-1) ?? kept,
    write: async (onboarding) => void written.push(onboarding),
  };
}

const OLD = { project: 'old', tier: 't' };
const NEW = { project: 'new', tier: 't' };

test('a cached onboarding is used, and a fresh one is not asked for again', async () => {
  let asked = 0;
  const ask = async (): Promise<Onboarding> => {
    asked += 1;
    return NEW;
  };
  const cache = memory(OLD);
  const known = createOnboardings(cache, ask);
  expect([await known.current(SIGNAL), asked]).toEqual([OLD, 0]);
  expect([await known.refresh(SIGNAL), await known.refresh(SIGNAL), asked]).toEqual([true, false, 1]);
  expect([await known.current(SIGNAL), cache.written]).toEqual([NEW, [NEW]]);
  const fresh = createOnboardings(memory(), ask);
  await fresh.current(SIGNAL);
  expect([await fresh.refresh(SIGNAL), asked]).toEqual([false, 2]);
});

const KNOWN: Onboardings = {
  current: async () => OLD,
  findCached: () => undefined,
  ask: async () => OLD,
  refresh: async () => true,
};

const options = {
  place: {},
  userAgent: 'gmn/test',
  identity: keyIdentity('k'),
  onboardings: KNOWN,
  project: 'mine',
  sessionId: 'session-1',
};

const backend = codeAssist(options);

test.for([
  [404, { status: 'NOT_FOUND' }, true],
  [404, '', false],
  [403, '', true],
  [403, { details: [{ reason: 'CONSUMER_INVALID' }] }, true],
  [403, { details: [{ reason: 'UNSUPPORTED_CLIENT' }] }, false],
  [403, { details: [{ reason: 'VALIDATION_REQUIRED' }] }, false],
  [400, '', false],
  [400, { status: 'FAILED_PRECONDITION', message: 'Bad role.' }, false],
  [400, { status: 'FAILED_PRECONDITION', message: 'The project was shut down.' }, true],
  [400, { status: 'INVALID_ARGUMENT', message: 'Invalid resource: projects/old.' }, true],
  [400, { status: 'INVALID_ARGUMENT', message: 'Invalid resource: older.' }, false],
  [400, { status: 'OUT_OF_RANGE', message: 'Invalid resource: projects/old.' }, false],
  [429, '', false],
  [500, '', false],
] as const)('a refusal with %i and %j may be due to a stale project: %j', async ([status, error, isStale]) => {
  const remembering = codeAssist({ ...options, onboardings: { ...KNOWN, findCached: () => OLD } });
  expect(await remembering.repair?.({ status, body: JSON.stringify({ error }) }, SIGNAL)).toBe(isStale);
});

test('the envelope is taken off; what is in none passes', () => {
  expect(backend.unwrap({ response: { candidates: [] }, traceId: 'x' })).toEqual({ candidates: [] });
  expect(backend.unwrap({ error: { code: 500 } })).toEqual({ error: { code: 500 } });
  expect([backend.unwrap(7), backend.unwrap({ response: null })]).toEqual([7, { response: null }]);
});

test('a system instruction goes into the inner request; the id stands bare', async () => {
  const system = { role: 'user', parts: [{ text: 'Be brief.' }] } as const;
  const request = { ...REQUEST, model: 'models/gemini-x', systemInstruction: system };
  const { url, body } = await backend.preview(request);
  expect(url.href).toBe('https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse');
  expect(JSON.parse(String(body))).toEqual({
    model: 'gemini-x',
    project: 'mine',
    user_prompt_id: 'session-1',
    request: {
      contents: REQUEST.contents,
      systemInstruction: system,
      generationConfig: REQUEST.generationConfig,
      session_id: 'session-1',
    },
  });
});

test('an id that is none is refused before the network', async () => {
  await expect(backend.preview({ ...REQUEST, model: '../x' })).rejects.toThrow(AppError);
});
