import { expect, test } from 'vitest';
import { openServeSessions } from '../../../src/app/serve/sessions.ts';
import { createLocks } from '../../../src/core/async.ts';
import { testApp } from '../../auth/support/app.ts';
import { home } from '../../auth/support/home.ts';
import { linesOf, onlyFile, prompt } from '../../session/support.ts';

test('text that arrives comes after its prompt in the file', async (t) => {
  const place = home(t);
  const { app } = testApp(place, {});
  const sessions = openServeSessions(app, createLocks());
  const kept = await sessions.open({ kind: 'session', cwd: place.root, earlier: undefined });
  await kept.history.append(prompt('hello'));
  await kept.history.appendDelta?.('a'.repeat(70_000));
  await kept.close();
  expect(linesOf(onlyFile(place.gmn)).map(({ type, title }) => title ?? type)).toEqual(['hello', 'prompt', 'partial']);
});
