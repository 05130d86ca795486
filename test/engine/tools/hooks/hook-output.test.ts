import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readHookAnswer } from '../../../../src/engine/tools/hooks/hook-output.ts';

const ENDED = { stdout: '', stderr: '', isCut: false, exitCode: 0, signal: null, hasTimedOut: false } as const;

const print = (stdout: string, event: 'BeforeTool' | 'SessionStart' = 'BeforeTool') =>
  readHookAnswer({ event }, { ...ENDED, stdout });

test.for([
  'fine',
  '[]',
  'null',
  '"deny"',
  '{"decision": "allow"',
  '{} {}',
  '{"decision":"maybe"}',
  '{"decision":null}',
  '{"decision":["deny"]}',
  '{"decision":"undefined"}',
  '{"hookSpecificOutput":null}',
  '{"hookSpecificOutput":[]}',
  '{"hookSpecificOutput":{"permissionDecision":"yes"}}',
  '{"hookSpecificOutput":{"permissionDecision":["deny"]}}',
  '{"hookSpecificOutput":{"tool_input":"x"}}',
  '{"hookSpecificOutput":{"updatedInput":[]}}',
  '{"continue":"false"}',
])('%s is no answer', (stdout) => {
  expect(print(stdout)).toEqual({ failure: expect.stringMatching(/^its output must be empty or a JSON object/) });
});

test.for([
  ['its time', { hasTimedOut: true, exitCode: null, signal: 'SIGTERM' }, 'it took too long'],
  ['a signal', { exitCode: null, signal: 'SIGSEGV' }, 'it was ended by SIGSEGV'],
  ['no ending', { exitCode: null }, 'it was ended by a signal'],
  ['too much', { isCut: true, stdout: '{}' }, 'it printed too much'],
  ['its code', { exitCode: 1, stderr: ' why \n' }, 'exit code 1: why'],
] as const)('%s is a failure, whatever was printed', ([, ending, failure]) => {
  const stdout = '{"decision":"allow"}';
  expect(readHookAnswer({ event: 'BeforeTool' }, { ...ENDED, stdout, ...ending })).toEqual({ failure });
});

test('whatever a hook answers, only words that mean so let a call pass', () => {
  const word = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('allow', 'approve', 'deny', 'block', 'ask', 'Deny', 'DENY', ' deny', 'undefined'),
  );
  const fields = fc.record({ decision: word, permissionDecision: word }, { requiredKeys: [] });
  fc.assert(
    fc.property(fields, ({ permissionDecision, ...given }) => {
      const hookSpecificOutput = permissionDecision === undefined ? {} : { permissionDecision };
      const answer = print(JSON.stringify({ ...given, hookSpecificOutput }));
      const passes = ['allow', 'approve', 'ask', undefined].includes(given.decision as string);
      const permits = ['allow', 'ask', undefined].includes(permissionDecision as string);
      expect('failure' in answer || answer.isDenial).toBe(!passes || !permits);
    }),
  );
});

test('before a prompt plain text is for the model; what begins like JSON has to be some', () => {
  expect(print('  hello\n', 'SessionStart')).toEqual({ isDenial: false, context: 'hello' });
  expect(print('{hello', 'SessionStart')).toHaveProperty('failure');
  expect(print(JSON.stringify({ hookSpecificOutput: { additionalContext: 'x'.repeat(30_000) } }))).toMatchObject({
    context: `${'x'.repeat(20_000)}…`,
  });
});
