import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CANARIES } from '../support/canaries.ts';
import { linuxTest } from '../support/posix.ts';
import type { Expected, ProblemKind, Way } from './fault.ts';
import { checkExpected, checkRun } from './oracle.ts';
import type { Ended } from './started.ts';
import { brokenSessions, fingerprint, leftovers, marked, openModes } from './traces.ts';

function ended(format: Way['format'], changes: Partial<Ended> = {}, surface: Way['surface'] = 'pipe'): Ended {
  const stdout = changes.stdout ?? 'Hello.\n';
  const whole = { stderr: '', code: 0, signal: null, isHung: false, peakMb: 60, modes: undefined };
  return { way: { format, surface }, ...whole, stdout, bytes: Buffer.from(stdout), ...changes };
}

function kindsOf(run: Ended, expected?: Expected): readonly ProblemKind[] {
  const kinds: ProblemKind[] = [];
  const tell = (kind: ProblemKind): void => void kinds.push(kind);
  checkRun(run, {}, tell);
  if (expected !== undefined) checkExpected(run, expected, tell);
  return [...new Set(kinds)];
}

const ERROR = { code: 3, type: 'ApiError', message: 'Refused.', suggestion: 'Try again.' };
const lines = (...events: readonly object[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join('');
const START = { type: 'start', model: 'm' };
const DONE = { type: 'done', usage: {}, finishReason: 'STOP' };

test.for<[string, Ended, Expected | undefined, readonly ProblemKind[]]>([
  ['a good text', ended('text'), { code: 0, text: 'Hello.' }, []],
  ['a good json', ended('json', { stdout: '{"response":"Hello."}' }), { code: 0, text: 'Hello.' }, []],
  [
    'a good stream',
    ended('stream-json', { stdout: lines(START, { type: 'content', text: 'Hello.' }, DONE) }),
    { code: 0, text: 'Hello.' },
    [],
  ],
  [
    'a good error',
    ended('stream-json', { stdout: lines(START, { type: 'error', error: ERROR }), code: 3 }),
    { code: 3, says: /Refused[\s\S]*again/ },
    [],
  ],
  ['another code', ended('text', { code: 1 }), { code: 0 }, ['code']],
  ['other words', ended('text', { stderr: 'Error: x\n' }), { code: 0, says: /y/ }, ['words']],
  ['other text', ended('text'), { code: 0, text: 'Hello' }, ['lost']],
  ['a hang', ended('text', { isHung: true, code: null, signal: 'SIGKILL' }), undefined, ['hang']],
  ['a stack', ended('text', { stderr: 'Error: x\n    at f (file.js:1:2)\n' }), undefined, ['stack']],
  ['much noise', ended('text', { stderr: 'x\n'.repeat(21) }), undefined, ['noise']],
  ['a secret', ended('text', { stderr: Buffer.from(CANARIES.geminiKey).toString('base64') }), undefined, ['leak']],
  ['much memory', ended('text', { peakMb: 201 }), undefined, ['memory']],
  ['two documents', ended('json', { stdout: '{"response":""}{}' }), undefined, ['grammar']],
  ['no response', ended('json', { stdout: '{}' }), undefined, ['grammar']],
  ['words beside json', ended('json', { stdout: '{"response":""}', stderr: 'x\n' }), undefined, ['noise']],
  ['a code without an error', ended('json', { stdout: '{"response":""}', code: 3 }), undefined, ['grammar']],
  ['the code of another', ended('json', { stdout: JSON.stringify({ error: ERROR }), code: 2 }), undefined, ['grammar']],
  ['two endings', ended('stream-json', { stdout: lines(START, DONE, DONE) }), undefined, ['grammar']],
  ['no ending', ended('stream-json', { stdout: lines(START) }), undefined, ['grammar']],
  ['an ending that is not last', ended('stream-json', { stdout: lines(START, DONE, START) }), undefined, ['grammar']],
  ['no start', ended('stream-json', { stdout: lines({ type: 'content' }, DONE) }), undefined, ['grammar']],
  ['half a line', ended('stream-json', { stdout: `${lines(START, DONE)}{` }), undefined, ['grammar']],
  ['another terminal', ended('none', { modes: ['a', 'b'] }, 'terminal'), undefined, ['terminal']],
  ['a hidden cursor', ended('none', { modes: ['a', 'a'], stdout: '\u001b[?25l' }, 'terminal'), undefined, ['terminal']],
  [
    'pasting left on',
    ended('none', { modes: ['a', 'a'], stdout: '\u001b[?2004h' }, 'terminal'),
    undefined,
    ['terminal'],
  ],
  ['both put back', ended('none', { modes: ['a', 'a'], stdout: '\u001b[?25l\u001b[?25h' }, 'terminal'), undefined, []],
])('the oracle sees %s for what it is', ([, run, expected, kinds]) => {
  expect(kindsOf(run, expected)).toEqual(kinds);
});

linuxTest('what a run leaves behind is found', async () => {
  const root = mkdtempSync(join(tmpdir(), 'gmn-oracle-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const sessions = join(root, 'home', '.gmn', 'sessions');
  mkdirSync(sessions, { recursive: true, mode: 0o700 });
  const before = fingerprint(root);
  expect([leftovers(root), openModes(join(root, 'home')), await brokenSessions(join(root, 'home', '.gmn'))]).toEqual([
    [],
    [],
    [],
  ]);
  writeFileSync(join(sessions, 'a.lock'), '', { mode: 0o600 });
  writeFileSync(join(sessions, '.b.1.tmp'), '', { mode: 0o644 });
  writeFileSync(join(sessions, 'c.jsonl'), 'no session\n', { mode: 0o600 });
  expect(fingerprint(root)).not.toBe(before);
  expect(leftovers(root)).toEqual(['home/.gmn/sessions/.b.1.tmp', 'home/.gmn/sessions/a.lock']);
  expect(openModes(join(root, 'home'))).toEqual(['.gmn/sessions/.b.1.tmp']);
  expect(await brokenSessions(join(root, 'home', '.gmn'))).toHaveLength(1);
  expect(marked('PATH=')).toContain(process.pid);
});
