import { expect, test } from 'vitest';
import { classifyResponse } from '../../src/api/failure.ts';
import type { AppError } from '../../src/core/error.ts';

const ABOUT = { headers: {}, model: 'gemini-x', credential: 'key', authHint: '', secrets: new Set<string>() } as const;

test.for([
  [404, { status: 'NOT_FOUND' }, 'model'],
  [404, '<html>no</html>', undefined],
  [404, '', undefined],
  [400, { status: 'NOT_FOUND' }, undefined],
] as const)('%i with %j objects to %s', ([status, body, objection]) => {
  const text = typeof body === 'string' ? body : JSON.stringify({ error: body });
  const { details } = classifyResponse({ ...ABOUT, status, body: text }) as AppError<'api'>;
  expect(details.objection).toBe(objection);
});

test('secrets go from what is quoted, not from what decides', () => {
  const details = [{ reason: 'API_KEY_INVALID' }];
  const body = JSON.stringify({ error: { message: 'API_KEY_INVALID: a-secret-01', status: 'a-secret-01', details } });
  const about = { ...ABOUT, secrets: new Set(['API_KEY_INVALID', 'a-secret-01']) };
  const { fault, shortMessage } = classifyResponse({ ...about, status: 400, body });
  expect([fault, shortMessage]).toEqual(['auth', '‹redacted›: ‹redacted› (400 ‹redacted›)']);
  // Cut first, half of it would stand there.
  const page = classifyResponse({ ...about, status: 418, body: `<p>${'x'.repeat(195)}a-secret-01</p>` });
  expect(page.shortMessage).toBe(`request refused (418): ${'x'.repeat(195)}‹reda…`);
});
