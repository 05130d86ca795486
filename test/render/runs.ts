import { AppError } from '../../src/core/error.ts';
import type { TurnEvent } from '../../src/core/event.ts';

/** The runs whose output `docs/output.md` shows, and the schemas are checked against. */

const usage = { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 };

export const begin: TurnEvent = { type: 'begin', model: 'gemini-2.5-flash' };
export const end: TurnEvent = { type: 'end', finishReason: 'STOP', usage, model: 'gemini-2.5-flash' };

export function texts(...deltas: readonly string[]): readonly TurnEvent[] {
  return deltas.map((delta) => ({ type: 'text', delta }));
}

export function failure(error: AppError): TurnEvent {
  return { type: 'failure', error };
}

export const hello: readonly TurnEvent[] = [
  { type: 'wait', what: 'gemini-2.5-flash' },
  begin,
  { type: 'thought', delta: 'They greet me.' },
  ...texts('Hello', '! How can', ' I help you today?'),
  end,
];

export const withTools: readonly TurnEvent[] = [
  { type: 'notice', message: 'settings.json: unknown key "modle"' },
  begin,
  { type: 'call', id: 'c1', name: 'read_file', args: { file_path: 'a.txt' } },
  { type: 'call', id: 'c2', name: 'read_file', args: { file_path: 'b.txt' } },
  { type: 'answer', id: 'c1', name: 'read_file', outcome: { ok: true, response: { output: 'hello' } } },
  { type: 'answer', id: 'c2', name: 'read_file', outcome: { ok: false, response: { error: 'b.txt does not exist' } } },
  begin,
  ...texts('It says hello.'),
  end,
];

/** As docs/dev/samples.md has it, which is compared with the program. */
export const GUIDE = `Do one of these:
  export GEMINI_API_KEY=<key>   get one at https://aistudio.google.com/apikey
  gmn auth set-key              store that key, in the keyring or a private file
  gemini                        official CLI's sign-in (Workspace, Code Assist)
  gmn --demo "hello"            try gmn offline, no account needed
  gmn chat --demo               the same as a chat`;

export const unauthenticated: readonly TurnEvent[] = [
  failure(
    new AppError('auth', 'no Gemini credentials found', {
      guide: GUIDE,
      hint: 'Set GEMINI_API_KEY, store a key with: gmn auth set-key, sign in with: gemini, or add --demo',
    }),
  ),
];

export const cutOff: readonly TurnEvent[] = [
  begin,
  { type: 'notice', message: 'answered after 2 tries' },
  ...texts('Once upon', ' a time'),
  failure(new AppError('api', 'API error: the stream ended without a finish reason', { hint: 'Try again.' })),
];

export const interrupted: readonly TurnEvent[] = [
  begin,
  ...texts('Once'),
  failure(new AppError('interrupted', 'Interrupted.')),
];

const verifyRun = (code: number | null, output: string): TurnEvent => ({
  type: 'verify',
  command: 'npm test',
  exit: { code, signal: code === null ? 'SIGKILL' : null },
  output,
  elapsedMs: 3200,
});

export const verified: readonly TurnEvent[] = [
  begin,
  ...texts('Done.'),
  verifyRun(1, '1 test failed'),
  ...texts('\n', 'Now it is.'),
  verifyRun(0, ''),
  end,
];

export const unverified: readonly TurnEvent[] = [
  begin,
  ...texts('Done.'),
  verifyRun(null, ''),
  failure(new AppError('verify', 'verify still fails: npm test (ended by SIGKILL)', { hint: 'x', output: 'the end' })),
];

const FOX = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };

export const withFiles: readonly TurnEvent[] = [
  begin,
  { type: 'service', step: { kind: 'code', language: 'PYTHON', code: 'print(6 * 7)' } },
  { type: 'service', step: { kind: 'result', ok: true, outcome: 'OUTCOME_OK', output: '42\n' } },
  ...texts('It is 42.'),
  { type: 'service', step: { kind: 'page', url: 'https://example.com/', ok: false, status: 'PAYWALL' } },
  {
    type: 'file',
    file: { ...FOX, saved: { path: '/home/ada/chart.png', name: 'chart.png', mimeType: 'image/png', bytes: 8 } },
  },
  { type: 'file', file: FOX },
  { ...end, serviceTier: 'standard' } as TurnEvent,
];

export const everyRun = { hello, withTools, unauthenticated, cutOff, interrupted, verified, unverified, withFiles };

/** The same run, saved as that session. */
export function savedAs(sessionId: string, run: readonly TurnEvent[]): readonly TurnEvent[] {
  return run.map((event) =>
    event.type === 'begin' || event.type === 'end' || event.type === 'failure' ? { ...event, sessionId } : event,
  );
}
